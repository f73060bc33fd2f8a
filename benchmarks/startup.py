"""What a start costs: importing the library, one search from the command line."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.corpus import EXAMPLES
from benchmarks.cpu import cpu_of
from benchmarks.report import Report


def run() -> Report:
    report = Report("Start-up (CPU time of a whole process)")
    with tempfile.TemporaryDirectory() as root:
        env = {"OPENCLAW_STATE_DIR": f"{root}/state"}
        config = Path(root) / "openclaw.json"
        config.write_text(f'{{"agents": {{"defaults": {{"workspace": "{EXAMPLES}"}}}}}}')
        command = ["-m", "recallite.cli.main", "--config", str(config)]
        env["OPENAI_API_KEY"] = ""
        bare = cpu_of(["-c", "pass"], env=env)
        report.add("python -c pass", bare, "s")
        imported = cpu_of(["-c", "import recallite"], env=env)
        report.add("import recallite", imported - bare, "s", at_most=0.12)
        report.add("import numpy, for comparison", cpu_of(["-c", "import numpy"], env=env) - bare, "s")
        cpu_of([*command, "index"], env=env, runs=1)
        cold = cpu_of([*command, "search", "which carrier do we use"], env=env)
        report.add("recallite search, cold, built-in model", cold, "s", at_most=0.6)
        report.add("recallite index, nothing to do", cpu_of([*command, "index"], env=env), "s")
    return report
