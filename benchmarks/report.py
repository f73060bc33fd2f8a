"""A table of measurements, some with a bound that they must keep."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement. `at_least` and `at_most` are the bounds that the project promises, in the same unit."""

    what: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def met(self) -> bool:
        low = self.at_least is None or self.value >= self.at_least
        high = self.at_most is None or self.value <= self.at_most
        return low and high


@dataclass(slots=True)
class Report:
    """What one benchmark measured."""

    title: str
    lines: list[Line] = field(default_factory=list)

    def add(
        self, what: str, value: float, unit: str, *, at_least: float | None = None, at_most: float | None = None
    ) -> None:
        self.lines.append(Line(what, value, unit, at_least, at_most))

    @property
    def all_met(self) -> bool:
        return all(line.met for line in self.lines)

    def table(self) -> str:
        """Markdown."""
        rows = [f"\n## {self.title}\n", "| what | measured | bound | |", "| --- | ---: | ---: | --- |"]
        for line in self.lines:
            bound = ""
            if line.at_least is not None:
                bound = f"≥ {line.at_least:g} {line.unit}"
            if line.at_most is not None:
                bound = f"≤ {line.at_most:g} {line.unit}"
            verdict = "" if not bound else ("met" if line.met else "**missed**")
            rows.append(f"| {line.what} | {line.value:.3g} {line.unit} | {bound} | {verdict} |")
        return "\n".join(rows)
