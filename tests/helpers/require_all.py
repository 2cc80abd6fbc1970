"""What was left out, and why, stands at the end of every run. With REQUIRE_ALL=1 leaving anything out is a failure."""

from __future__ import annotations

import os

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = _skip_reasons(terminalreporter)
    if reasons:
        terminalreporter.section("not run, and what it needs")
        for reason in reasons:
            terminalreporter.write_line(f"- {reason}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    assert reporter is not None
    if os.environ.get("REQUIRE_ALL") == "1" and exitstatus == pytest.ExitCode.OK and _skip_reasons(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _skip_reasons(reporter: pytest.TerminalReporter) -> list[str]:
    """Each reason once. An expected failure counts too: it is a test that does not pass."""
    skipped = [report.longrepr for report in reporter.stats.get("skipped", [])]
    texts = [longrepr[2] if isinstance(longrepr, tuple) else str(longrepr) for longrepr in skipped]
    texts += [f"expected to fail: {report.nodeid}" for report in reporter.stats.get("xfailed", [])]
    return sorted({text.removeprefix("Skipped: ") for text in texts})
