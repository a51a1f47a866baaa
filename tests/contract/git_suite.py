"""What every `Git` of the GitOps operator must do. One is tested by a subclass that makes a repository for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from examples.operators.gitops.git import Git, GitError
from tests.testkit.git_repositories import Repository

Answer = TypeVar("Answer")

FILES = {"deploy/a.yaml": "a: 1\n", "deploy/b.yaml": "b: ä\n", "deploy/sub/c.yaml": "c: 3\n", "top.txt": "top"}


class GitSuite:
    """Subclasses say how a repository and a Git that reads it are made, and in which sort of event loop it runs."""

    loop_factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop

    def make(self, directory: Path) -> tuple[Repository, Git]:
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _make(self, tmp_path: Path) -> None:
        self.repository, self.git = self.make(tmp_path / "a repository.git")

    def resolve(self, revision: str, url: str = "") -> str:
        return self.run(self.git.resolve(url or self.repository.url, revision))

    def files(self, commit: str, path: str) -> Mapping[str, bytes]:
        return self.run(self.git.files(self.repository.url, commit, path))

    @classmethod
    def run(cls, asked: Coroutine[Any, Any, Answer]) -> Answer:
        with asyncio.Runner(loop_factory=cls.loop_factory) as runner:
            return runner.run(asked)

    def test_a_branch_means_its_newest_commit(self) -> None:
        """Also after it has moved; HEAD is the repository's main branch."""
        first = self.repository.commit(FILES)
        assert [first, first] == [self.resolve("main"), self.resolve("HEAD")]

        second = self.repository.commit({"deploy/a.yaml": "a: 2\n"})
        other = self.repository.commit(FILES, branch="next")

        assert [second, second, other] == [self.resolve("main"), self.resolve("HEAD"), self.resolve("next")]

    def test_a_tag_and_a_commit_mean_one_commit_for_ever(self) -> None:
        """A tag with a message is followed to its commit; an id may be short."""
        first = self.repository.commit(FILES)
        self.repository.tag("v1", first)
        self.repository.commit({"deploy/a.yaml": "a: 2\n"})

        assert [first] * 3 == [self.resolve("v1"), self.resolve(first), self.resolve(first[:10])]

    @pytest.mark.parametrize("revision", ["nowhere", "0" * 40, "--help", "main nowhere", "", "HEAD:deploy"])
    def test_a_revision_that_is_no_commit_is_an_error(self, revision: str) -> None:
        """Also one that looks like an option."""
        self.repository.commit(FILES)

        with pytest.raises(GitError):
            self.resolve(revision)

    def test_a_repository_may_be_named_by_url(self) -> None:
        """file:// with what URLs escape; anything else is refused."""
        commit = self.repository.commit(FILES)

        assert commit == self.resolve("main", "file://" + self.repository.url.replace(" ", "%20"))
        for url in ("https://example.com/a.git", "relative/path", "file://example.com/a.git", "ssh://example.com/a"):
            with pytest.raises(GitError):
                self.resolve("main", url)

    def test_a_repository_that_is_not_there_is_an_error(self) -> None:
        """It is named in the message."""
        with pytest.raises(GitError, match="/no/such/repository"):
            self.resolve("main", "/no/such/repository")

    def test_the_files_of_a_directory_are_read(self) -> None:
        """Not those of directories below; bytes as they were committed."""
        commit = self.repository.commit(FILES)

        assert {"a.yaml": b"a: 1\n", "b.yaml": "b: ä\n".encode()} == self.files(commit, "deploy")
        assert {"c.yaml": b"c: 3\n"} == self.files(commit, "deploy/sub/")
        assert {"top.txt": b"top"} == self.files(commit, ".") == self.files(commit, "")

    def test_a_commit_keeps_its_files(self) -> None:
        """Whatever is committed afterwards."""
        first = self.repository.commit(FILES)
        self.repository.commit({"deploy/a.yaml": "a: 2\n", "deploy/d.yaml": ""})

        assert ["a.yaml", "b.yaml"] == list(self.files(first, "deploy"))
        assert {"a.yaml": b"a: 2\n", "d.yaml": b""} == self.files(self.resolve("main"), "deploy")

    @pytest.mark.parametrize("path", ["nowhere", "../deploy", "/deploy", "deploy/../../x"])
    def test_a_path_that_is_not_in_the_repository_is_an_error(self, path: str) -> None:
        """Nothing outside is ever read."""
        commit = self.repository.commit(FILES)

        with pytest.raises(GitError):
            self.files(commit, path)
