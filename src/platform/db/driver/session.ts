/** A connection beside the pool, for what lives as long as the session: its advisory locks. */
import pg from 'pg';

export type Session = {
  client: pg.Client;
  /** Aborted when the connection is lost or was closed. */
  over: AbortSignal;
  /** Ends it at once, also when the server does not answer. */
  close(): void;
};

/** With the settings of the pool, of whose connections it takes none. Rejects when the server cannot be reached. */
export const openSession = async (pool: pg.Pool, applicationName: string): Promise<Session> => {
  const client = new pg.Client({ ...pool.options, application_name: applicationName });
  const over = new AbortController();
  const close = (): void => {
    over.abort();
    client.connection.stream.destroy();
  };
  // Without a listener the loss of the connection would end the process.
  client.on('error', () => over.abort());
  client.on('end', () => over.abort());
  try {
    await client.connect();
  } catch (error) {
    close();
    throw error;
  }
  return { client, over: over.signal, close };
};
