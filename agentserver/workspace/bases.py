"""What a repository's present state is compared with."""

from pathlib import Path

from agentserver.workspace.gitcommand import NoSuchCommit, git, run, text


def resolve(directory: Path, ref: str) -> str | None:
    """The commit that ``ref`` names, as its full hash; None if it names none."""
    if "\0" in ref or not ref:
        return None
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    code, output = run(directory, *asked)
    lines = text(output).split()
    return lines[-1] if code == 0 and lines else None


def commit(directory: Path, ref: str) -> str:
    """The commit that ``ref`` names. Raises NoSuchCommit (400)."""
    found = resolve(directory, ref)
    if found is None:
        raise NoSuchCommit()
    return found


def empty_tree(directory: Path) -> str:
    """The tree without files, in the hash of this repository."""
    return text(git(directory, "hash-object", "-t", "tree", "--stdin")).strip()


def parent(directory: Path, sha: str) -> str:
    """The first parent of a commit; the empty tree for the first one."""
    return resolve(directory, f"{sha}^1") or empty_tree(directory)


def shown(directory: Path, ref: str | None) -> str:
    """What changes are shown against: ``ref``, else the place where the present work began.

    HEAD of a repository without commits is the empty tree. Raises NoSuchCommit for another ref.
    """
    if ref is not None and ref != "HEAD":
        return commit(directory, ref)
    head = resolve(directory, "HEAD")
    if head is None:
        return empty_tree(directory)
    return head if ref == "HEAD" else _start_of_work(directory, head)


def exported(directory: Path) -> tuple[str | None, str]:
    """Name and commit of what a patch for somebody else builds on: a commit that a fresh clone has.

    Name None and the empty tree where nothing was ever fetched.
    """
    branch, default = current_branch(directory), default_branch(directory)
    for name in dict.fromkeys(n for n in (branch, default) if n):
        if found := resolve(directory, f"refs/remotes/origin/{name}"):
            return f"origin/{name}", found
    return None, empty_tree(directory)


def _start_of_work(directory: Path, head: str) -> str:
    branch = current_branch(directory)
    upstream = resolve(directory, f"refs/remotes/origin/{branch}") if branch else None
    # Work that is pushed and complete would vanish against its own upstream.
    if upstream and (upstream != head or _is_dirty(directory)):
        return upstream
    if default := default_branch(directory):
        tip = resolve(directory, f"refs/remotes/origin/{default}")
        return merge_base(directory, head, tip) or tip or head if tip else head
    return _local_fork_point(directory, head, branch) or head


def _local_fork_point(directory: Path, head: str, branch: str | None) -> str | None:
    """Where ``branch`` left the local main branch, if it is that branch's descendant."""
    main = local_main(directory)
    if main is None or main == branch:
        return None
    tip = commit(directory, f"refs/heads/{main}")
    return tip if merge_base(directory, head, tip) == tip else None


def local_main(directory: Path) -> str | None:
    """The branch that is the main one by its name."""
    known = (n for n in ("main", "master") if resolve(directory, f"refs/heads/{n}"))
    return next(known, None)


def merge_base(directory: Path, one: str, other: str) -> str | None:
    code, output = run(directory, "merge-base", one, other)
    return text(output).strip() if code == 0 else None


def current_branch(directory: Path) -> str | None:
    """Its name; None for a detached HEAD."""
    code, output = run(directory, "symbolic-ref", "--quiet", "--short", "HEAD")
    return text(output).strip() if code == 0 else None


def default_branch(directory: Path) -> str | None:
    """The default branch of ``origin`` as far as it is known here; the network is not asked."""
    code, output = run(directory, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")
    if code == 0:
        return text(output).strip().removeprefix("refs/remotes/origin/")
    known = (n for n in ("main", "master") if resolve(directory, f"refs/remotes/origin/{n}"))
    return next(known, None)


def _is_dirty(directory: Path) -> bool:
    asked = ("diff", "--quiet", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "HEAD")
    code, _ = run(directory, *asked)
    return code != 0
