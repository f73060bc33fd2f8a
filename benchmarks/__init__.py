"""Speed, as ratios within one run: what a thing costs beside what it is made of."""
