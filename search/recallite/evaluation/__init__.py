"""How good a search is, measured with a list of questions and the notes that answer them."""
