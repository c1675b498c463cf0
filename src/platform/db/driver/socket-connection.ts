/** How a PostgreSQL on a Unix socket is reached. */

/** `host`: the folder of the socket. `options`: settings of the server for each session, as `-c name=value`. */
export type SocketConnection = { host: string; port: number; user: string; database: string; options?: string };

/** The address that `DATABASE_URL`, `psql` and pg understand for a server on a Unix socket. */
export const connectionUrl = (connection: SocketConnection): string => {
  const query = new URLSearchParams({ host: connection.host, port: String(connection.port) });
  return `postgresql://${encodeURIComponent(connection.user)}@/${encodeURIComponent(connection.database)}?${query}`;
};
