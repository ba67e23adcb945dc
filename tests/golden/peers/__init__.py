"""One file a peer: ``case(golden) -> Case``, from the peer's harness options to its trainer recipe."""
