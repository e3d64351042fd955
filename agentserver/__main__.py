"""`python -m agentserver`: the same as the command `agentserver`."""

from agentserver.cli import main

if __name__ == "__main__":
    main()
