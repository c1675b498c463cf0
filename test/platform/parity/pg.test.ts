/** What src/platform/db/driver/pg-client.ts leans on in pg, beyond its documentation. */
import { Socket } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

const changed = (what: string): string => `pg changed what src/platform/db/driver leans on: ${what}`;

type Inside = { readyForQuery: unknown; processID: unknown };

const insideOf = (client: pg.Client): Inside => client as unknown as Inside;

const withClient = async (work: (client: pg.Client) => Promise<void>): Promise<void> => {
  const client = new pg.Client({ connectionString: database.url, pipeline: true });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
};

test('a pool makes its connections from the class that it is given, and sends through its method query', async () => {
  const seen: unknown[] = [];
  class Watching extends pg.Client {
    override query(...sent: unknown[]): never {
      seen.push(sent[0]);
      return (super.query as (...sent: unknown[]) => unknown)(...sent) as never;
    }
  }
  const pool = new pg.Pool({ connectionString: database.url, Client: Watching, max: 1 });
  try {
    await pool.query('select 1');
    const client = await pool.connect();
    await client.query('select 2', []);
    client.release();
    expect(seen, changed('Pool({ Client }) or query of the client')).toEqual(['select 1', 'select 2']);
  } finally {
    await pool.end();
  }
});

test('an event tells a client when it is connected, and its stream stays the same from then on', async () => {
  const client = new pg.Client({ connectionString: database.url });
  let streamAtConnect: unknown;
  client.once('connect', () => {
    streamAtConnect = client.connection.stream;
  });
  await client.connect();
  try {
    expect(streamAtConnect, changed('client.connection.stream is a socket at the event connect')).toBeInstanceOf(
      Socket,
    );
    await client.query('select 1');
    expect(client.connection.stream, changed('client.connection.stream stays the same')).toBe(streamAtConnect);
  } finally {
    await client.end();
  }
});

test('with pipeline a statement is written before earlier statements are answered, within its call', () =>
  withClient(async (client) => {
    const socket = client.connection.stream as Socket;
    const writtenBy = (call: () => unknown): number => {
      const before = socket.bytesWritten + socket.writableLength;
      call();
      return socket.bytesWritten + socket.writableLength - before;
    };
    const answers: Promise<unknown>[] = [];
    socket.cork();
    const first = writtenBy(() => answers.push(client.query('select 1')));
    const second = writtenBy(() => answers.push(client.query('select 2')));
    socket.uncork();
    expect(first, changed('query writes to the socket at once')).toBeGreaterThan(0);
    expect(second, changed('pipeline: true does not wait for answers')).toBeGreaterThan(0);
    await Promise.all(answers);
  }));

test('readyForQuery is false while a statement runs, and processID is the process of the server', () =>
  withClient(async (client) => {
    expect(insideOf(client).readyForQuery, changed('client.readyForQuery of an idle client')).toBe(true);
    const asked = client.query<{ pid: number }>('select pg_backend_pid() as pid');
    expect(insideOf(client).readyForQuery, changed('client.readyForQuery of a busy client')).toBe(false);
    const { rows } = await asked;
    expect(insideOf(client).processID, changed('client.processID')).toBe(rows[0]?.pid);
  }));

test('a statement with a name is prepared once for a connection', () =>
  withClient(async (client) => {
    const named = { name: 'parity', text: 'select $1::integer as n' };
    await client.query(named, [1]);
    await client.query(named, [2]);
    const { rows } = await client.query("select name from pg_prepared_statements where name = 'parity'");
    expect(rows, changed('named statements')).toEqual([{ name: 'parity' }]);
  }));
