/**
 * COPY in both directions as streams with backpressure, on a connection of their own. The protocol of replication sends a base
 * backup in the same form, so it is read here too.
 *
 * It leans on these parts of pg 8.23 that its documentation does not promise; test/platform/parity/pg.test.ts holds them:
 * - an object with the method `submit` that is given to `query` of a client without `pipeline` gets the answers of the server
 *   through its methods `handle…`;
 * - `connection.query`, `sendCopyFromChunk`, `endCopyFrom` and `sendCopyFail` write the messages of these names;
 * - the chunk of `copyData` is a view into a buffer that pg may write to again;
 * - `client.connection.stream` can be paused, and then no answer arrives.
 */
import type { Socket } from 'node:net';
import type pg from 'pg';
import { hostListOf, oneSocket } from './host-list.ts';
import { createHosts } from './hosts.ts';
import { clientClass } from './pg-client.ts';
import type { SocketConnection } from './socket-connection.ts';

type Wire = pg.Connection & {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
};

const socketOf = (connection: pg.Connection): Socket => connection.stream as Socket;

/** Received and not yet taken: above this the server has to wait. */
const waitingBytesMax = 1024 * 1024;
const connectTimeoutMs = 5_000;

/** Row values as the server sends them: text, or null. */
export type TextRow = readonly (string | null)[];

type Settle = { resolve(rows: TextRow[]): void; reject(error: unknown): void };

/** One statement; subclasses add what happens with its data. */
abstract class Exchange {
  readonly #text: string;
  readonly #rows: TextRow[] = [];
  readonly #settle: Settle;

  constructor(text: string, settle: Settle) {
    this.#text = text;
    this.#settle = settle;
  }

  submit(connection: pg.Connection): void {
    (connection as Wire).query(this.#text);
  }

  handleDataRow(message: { fields: TextRow }): void {
    this.#rows.push(message.fields);
  }

  handleError(error: unknown): void {
    this.#settle.reject(error);
  }

  handleReadyForQuery(): void {
    this.#settle.resolve(this.#rows);
  }

  handleRowDescription(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
}

class Reading extends Exchange {
  readonly #take: (messages: Buffer[]) => unknown;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #taking: Promise<void> | undefined;

  constructor(text: string, take: (messages: Buffer[]) => unknown, settle: Settle) {
    super(text, {
      reject: settle.reject,
      resolve: (rows) => void (this.#taking ?? Promise.resolve()).then(() => settle.resolve(rows)),
    });
    this.#take = take;
  }

  handleCopyData({ chunk }: { chunk: Buffer }, connection: pg.Connection): void {
    this.#waiting.push(Buffer.from(chunk));
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes > waitingBytesMax) socketOf(connection).pause();
    this.#taking ??= this.#takeAll(connection);
  }

  handleCopyInResponse(connection: pg.Connection): void {
    (connection as Wire).sendCopyFail('the statement was not expected to read data');
  }

  async #takeAll(connection: pg.Connection): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const messages = this.#waiting;
        this.#waiting = [];
        this.#waitingBytes = 0;
        await this.#take(messages);
        socketOf(connection).resume();
      }
    } catch (error) {
      this.handleError(error);
      // The rest of the data has no use, and may be large.
      socketOf(connection).destroy();
    } finally {
      this.#taking = undefined;
    }
  }

  handleCopyDone(): void {}
}

class Writing extends Exchange {
  readonly #begin: (connection: Wire) => void;

  constructor(text: string, begin: (connection: Wire) => void, settle: Settle) {
    super(text, settle);
    this.#begin = begin;
  }

  handleCopyInResponse(connection: pg.Connection): void {
    this.#begin(connection as Wire);
  }

  handleCopyData(): void {}
}

/**
 * Sends a statement that answers with data, and gives the messages to `take`, which is awaited before more are read. Resolves
 * with the rows of other results. When `take` rejects, so does this, and the connection is destroyed.
 */
export const copyOut = (
  client: pg.Client,
  statement: string,
  take: (messages: Buffer[]) => unknown,
): Promise<TextRow[]> =>
  new Promise((resolve, reject) => {
    client.query(new Reading(statement, take, { resolve, reject }));
  });

export type CopyIn = {
  /** Resolves when more can be sent. Rejects with the error of the server. */
  write(chunk: Buffer): Promise<void>;
  /** Resolves when the statement has ended. */
  end(): Promise<void>;
  /** Ends the statement with an error; nothing is stored. Never rejects. */
  cancel(reason: string): Promise<void>;
};

/** Sends a statement that reads data, and resolves when the server waits for it. Call `end` or `cancel` once. */
export const copyIn = async (client: pg.Client, statement: string): Promise<CopyIn> => {
  const begun = Promise.withResolvers<Wire>();
  const done = Promise.withResolvers<TextRow[]>();
  client.query(new Writing(statement, begun.resolve, done));
  let failure: { error: unknown } | undefined;
  let wake = (): void => undefined;
  done.promise.catch((error: unknown) => {
    failure = { error };
    begun.reject(error);
    wake();
  });
  const wire = await begun.promise;
  const socket = socketOf(wire);
  const onDrain = (): void => wake();
  socket.on('drain', onDrain);
  const stopListening = (): void => void socket.off('drain', onDrain);
  done.promise.then(stopListening, stopListening);
  return {
    write: async (chunk) => {
      wire.sendCopyFromChunk(chunk);
      // One promise for each wait: those of a race with the end of the statement would stay in memory until that end.
      if (socket.writableNeedDrain && failure === undefined)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      if (failure !== undefined) throw failure.error;
    },
    end: async () => {
      wire.endCopyFrom();
      await done.promise;
    },
    cancel: async (reason) => {
      wire.sendCopyFail(reason);
      await done.promise.catch(() => undefined);
    },
  };
};

/**
 * Connects for `copyOut` and `copyIn`, without the timeouts of the pool: a copy of a large table takes long. `replication`: the
 * session takes commands of the replication protocol too. The caller ends the client.
 */
export const connectForCopy = async (
  connection: SocketConnection | string,
  options: { applicationName: string; replication?: boolean },
): Promise<pg.Client> => {
  const hosts = createHosts(typeof connection === 'string' ? hostListOf(connection) : oneSocket);
  const Client = clientClass(0, { isPooled: false, prepared: false, hosts });
  return hosts.tryEach(async () => {
    const client = new Client({
      ...(typeof connection === 'string' ? { connectionString: hosts.pick().address } : { ...connection, ssl: false }),
      application_name: options.applicationName,
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      ...(options.replication === true ? { replication: 'database' } : undefined),
    });
    // A connection that breaks between two statements would otherwise end the process; the next statement rejects.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  });
};
