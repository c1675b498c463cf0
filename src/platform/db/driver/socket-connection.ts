/** How a PostgreSQL on a Unix socket is reached. */

/** `host` is the folder of the socket. */
export type SocketConnection = { host: string; port: number; user: string; database: string };

/** The address that `DATABASE_URL`, `psql` and pg understand for a server on a Unix socket. */
export const connectionUrl = (connection: SocketConnection): string => {
  const query = new URLSearchParams({ host: connection.host, port: String(connection.port) });
  return `postgresql://${encodeURIComponent(connection.user)}@/${encodeURIComponent(connection.database)}?${query}`;
};
