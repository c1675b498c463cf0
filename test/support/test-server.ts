/** The PostgreSQL of a test run, as the global setup hands it to the test files. */
import pg from 'pg';

type TestServer = {
  /** Address of a database of the server, from which others are created. */
  url: string;
  template: string;
};

declare module 'vitest' {
  export interface ProvidedContext {
    testServer: TestServer;
  }
}

/** The same server, another database. */
export const databaseUrl = (url: string, name: string): string =>
  url.replace(/^([a-z]+:\/\/[^/?#]*)(\/[^?#]*)?/, `$1/${name}`);

/** One statement on a connection of its own. */
export const run = async (url: string, statement: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(statement);
  } finally {
    await client.end().catch(() => undefined);
  }
};
