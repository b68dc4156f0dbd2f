"""Everything that touches the outside: databases, models, the command line, MCP."""
