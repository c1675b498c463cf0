/** A connection outside the pool, for what ends with its session, such as advisory locks. */
import pg from 'pg';
import { hostsOf } from './host-pool.ts';
import { destroyConnection } from './pg-client.ts';

export type Session = {
  client: pg.Client;
  /** Aborted when the connection is lost or was closed. */
  over: AbortSignal;
  /** Ends the session at once, also when the server does not answer. */
  close(): void;
};

/** Connects with the settings of the pool, and takes no connection from it. Rejects when the server cannot be reached. */
export const openSession = (pool: pg.Pool, applicationName: string): Promise<Session> =>
  hostsOf(pool).tryEach(() => connect(pool, applicationName));

const connect = async (pool: pg.Pool, applicationName: string): Promise<Session> => {
  const Client = (pool.options.Client ?? pg.Client) as typeof pg.Client;
  const client = new Client({ ...pool.options, application_name: applicationName });
  const over = new AbortController();
  const close = (): void => {
    over.abort();
    destroyConnection(client);
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
