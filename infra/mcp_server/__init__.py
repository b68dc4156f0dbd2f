"""The MCP server's parts: the wire, the memory that it lends to calls, the tools and what they answer."""
