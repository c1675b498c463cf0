/** The PostgreSQL of a test run, as the global setup hands it to the test files. */
import pg from 'pg';

type TestServer = {
  /** Address of a database of the server, from which others are created. */
  url: string;
  template: string;
  /** With TEST_DATABASE_ROLE=dml: a role that may read and write rows only, as which programs log in. */
  dmlRole: string | undefined;
};

declare module 'vitest' {
  export interface ProvidedContext {
    testServer: TestServer;
  }
}

/** The same server, another database. */
export const databaseUrl = (url: string, name: string): string =>
  url.replace(/^([a-z]+:\/\/[^/?#]*)(\/[^?#]*)?/, `$1/${name}`);

export const databaseNameOf = (url: string): string => /^[a-z]+:\/\/[^/?#]*\/([^?#]*)/.exec(url)?.[1] ?? '';

/** The same database, as another role. Tests give their roles their own name as the password. */
export const roleUrl = (url: string, role: string): string =>
  url.replace(/^([a-z]+:\/\/)(?:[^/?#@]*@)?/, `$1${role}:${role}@`);

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
