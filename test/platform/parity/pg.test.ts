/** What src/platform/db/driver/ leans on in pg, beyond its documentation. */
import { Socket } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectForCopy, copyIn, copyOut } from '#src/platform/db/driver/copy.ts';
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

test('a pool makes its connections from the class that it is given, by connect with a callback, and sends through its method query', async () => {
  const seen: unknown[] = [];
  class Watching extends pg.Client {
    override connect(callback?: unknown): never {
      return (super.connect as (callback: unknown) => unknown)((...called: unknown[]) => {
        seen.push(called[0]);
        (callback as (...called: unknown[]) => void)(...called);
      }) as never;
    }
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
    expect(seen, changed('Pool({ Client }), or connect or query of the client')).toEqual([
      null,
      'select 1',
      'select 2',
    ]);
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

test('getStartupConf returns the parameters that a connection starts with', async () => {
  class Named extends pg.Client {
    getStartupConf(): Record<string, string> {
      const own = (Reflect.get(pg.Client.prototype, 'getStartupConf') as () => Record<string, string>).call(this);
      return { ...own, datestyle: 'German, DMY' };
    }
  }
  const client = new Named({ connectionString: database.url, application_name: 'parity' });
  await client.connect();
  try {
    const { rows } = await client.query(
      "select current_setting('datestyle') as dates, current_setting('application_name') as name",
    );
    expect(rows, changed('client.getStartupConf')).toEqual([{ dates: 'German, DMY', name: 'parity' }]);
  } finally {
    await client.end();
  }
});

test('the connection shows errors and changed settings before they end a statement, and its error fails what waits', () =>
  withClient(async (client) => {
    const seen: unknown[] = [];
    client.on('error', () => seen.push('error of the client'));
    client.connection.prependListener('errorMessage', ({ code }: { code: string }) => seen.push(code));
    await client.query('select 1 / 0').catch(() => seen.push('the statement failed'));
    expect(seen, changed('errorMessage of client.connection')).toEqual(['22012', 'the statement failed']);
    client.connection.once('parameterStatus', (report: unknown) => {
      seen.push(report);
      client.connection.emit('error', new Error('left'));
    });
    const answer = client.query("set application_name = 'parity'");
    await expect(answer, changed("the event 'error' of client.connection")).rejects.toThrow('left');
    expect(seen.slice(2), changed('parameterStatus of client.connection')).toEqual([
      expect.objectContaining({ parameterName: 'application_name', parameterValue: 'parity' }),
      'error of the client',
    ]);
  }));

test('a statement with a name is prepared once for a connection', () =>
  withClient(async (client) => {
    const named = { name: 'parity', text: 'select $1::integer as n' };
    await client.query(named, [1]);
    await client.query(named, [2]);
    const { rows } = await client.query("select name from pg_prepared_statements where name = 'parity'");
    expect(rows, changed('named statements')).toEqual([{ name: 'parity' }]);
  }));

const copying = async (work: (client: pg.Client) => Promise<void>): Promise<void> => {
  const client = await connectForCopy(database.url, { applicationName: 'parity' });
  try {
    await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
};

test('COPY sends and takes data through a client, each byte once, however slowly it is taken', () =>
  copying(async (client) => {
    const lines = 60_000;
    await client.query('create temp table copied (n integer, filler text)');
    const into = await copyIn(client, 'copy copied from stdin');
    for (let n = 0; n < lines; n += 1000) {
      const part = Array.from({ length: 1000 }, (_, i) => `${n + i}\t${'x'.repeat(100)}\n`).join('');
      await into.write(Buffer.from(part));
    }
    await into.end();
    let [bytes, next, mostAtOnce] = [0, 0, 0];
    await copyOut(client, 'copy (select * from copied order by n) to stdout', async (messages) => {
      await new Promise((resolve) => setImmediate(resolve));
      for (const message of messages) {
        expect(message.toString().startsWith(`${next}\t`), changed('the chunk of copyData')).toBe(true);
        next += 1;
      }
      const size = messages.reduce((sum, { length }) => sum + length, 0);
      mostAtOnce = Math.max(mostAtOnce, size);
      bytes += size;
    });
    expect(next, changed('copyData')).toBe(lines);
    expect(bytes).toBeGreaterThan(lines * 100);
    expect(mostAtOnce, changed('client.connection.stream.pause')).toBeLessThan(2 * 1024 * 1024);
    expect((await client.query('select 1 as n')).rows, changed('a client after COPY')).toEqual([{ n: 1 }]);
  }));

test('COPY ends with the error of the server, of the reader, and of a cancelled writer', () =>
  copying(async (client) => {
    await expect(copyIn(client, 'copy absent from stdin'), changed('handleError')).rejects.toThrow('does not exist');
    await client.query('create temp table numbers (n integer)');
    const wrong = await copyIn(client, 'copy numbers from stdin');
    await wrong.write(Buffer.from('one\n'));
    await expect(wrong.end(), changed('endCopyFrom')).rejects.toThrow('invalid input syntax');
    const cancelled = await copyIn(client, 'copy numbers from stdin');
    await cancelled.write(Buffer.from('1\n'));
    await cancelled.cancel('the test cancels it');
    expect((await client.query('select * from numbers')).rows, changed('sendCopyFail')).toEqual([]);
    const failing = copyOut(client, 'copy (select generate_series(1, 100000)) to stdout', () => {
      throw new Error('the reader failed');
    });
    await expect(failing).rejects.toThrow('the reader failed');
  }));
