/**
 * The connection of the pool: a `pg.Client` that names marked statements, sends statements together, leaves a server that
 * became read-only, and ends when the server stays silent.
 *
 * It leans on these parts of pg 8.23 that its documentation does not promise; test/platform/parity/pg.test.ts holds them:
 * - `new pg.Pool({ Client })` makes its connections from the class that it is given;
 * - `Pool` and kysely send through the method `query` of the client, so a subclass sees every statement;
 * - with `pipeline: true` a statement is written to the socket within `query`, without waiting for earlier answers;
 * - `client.connection.stream` is the `net.Socket` or `TLSSocket` of the connection, and stays the same once connected;
 * - `client.readyForQuery` is false from a statement until the server is ready for the next one;
 * - `client.processID` is the id of the server's process;
 * - `client.connection` emits `errorMessage` and `parameterStatus` for these messages of the server, in their sequence;
 * - an event `error` of `client.connection` fails the statements that wait, also when their answers are being read;
 * - `connect` of the client calls back once, and `Pool` calls it with a callback.
 */
import type { Socket } from 'node:net';
import pg from 'pg';
import type { WantedServer } from './host-list.ts';
import { type Host, type Hosts, readOnlyCode, readOnlyError } from './hosts.ts';
import { nameOfMarked } from './named.ts';

/** With one host: the bound that a pool has for a new connection. */
const askMsMax = 5_000;

/** A setting of the session, as the server reports it when it changes. */
type Report = { parameterName: string; parameterValue: string };

type Send = (this: pg.Client, ...sent: unknown[]) => unknown;

/** pg makes the stream itself, encrypted or not, so it is always a socket. */
const socketOf = (client: pg.Client): Socket => client.connection.stream as Socket;

/** `prepared`: marked statements get a name. */
export type ClientOptions = { prepared: boolean; hosts: Hosts };

type OnConnect = ((error: Error) => void) | ((error: null, client: pg.Client) => void);
type OnEnd = (error: Error | null) => void;

const facts = `select current_setting('transaction_read_only') = 'on' as "isReadOnly", pg_is_in_recovery() as "isStandby"`;

/** FATAL errors after which the server closes the connection, and class 08, after which its state is not known. */
const closing = /^(?:57P0[1-3]|08...)$/;

/**
 * A class of clients that connect to one of `hosts`, leave a server that takes no writes any more, and end when a statement
 * gets no byte of answer for `silentMsMax`; 0: never.
 */
export const clientClass = (silentMsMax: number, { prepared, hosts }: ClientOptions): typeof pg.Client =>
  class extends pg.Client {
    #corked: Socket | undefined;
    readonly #host: Host;

    constructor(config?: string | pg.ClientConfig) {
      const host = hosts.pick();
      const { hostMsMax } = hosts;
      const isOne = hostMsMax === undefined || typeof config === 'string';
      super(isOne ? config : { ...config, connectionString: host.address, connectionTimeoutMillis: hostMsMax });
      this.#host = host;
      // pg replaces the stream when the connection becomes encrypted, so the timer starts when it is ready.
      this.once('connect', () => endWhenSilent(this, silentMsMax));
    }

    /** As that of pg, whose overloads cannot be repeated here. It also fails when the server is not the wanted one. */
    override connect(callback?: OnConnect): never {
      if (callback !== undefined) return this.#connect(callback as OnEnd) as never;
      const { promise, resolve, reject } = Promise.withResolvers<this>();
      this.#connect((error) => (error === null ? resolve(this) : reject(error)));
      return promise as never;
    }

    #connect(callback: OnEnd): void {
      const failed = (error: Error): void => {
        hosts.fail(this.#host, error);
        callback(error);
      };
      super.connect((error: Error | null) => {
        if (error instanceof Error) return failed(error);
        this.#watch();
        if (hosts.wanted === undefined) return callback(null);
        this.#ask(hosts.wanted).then(
          () => {
            hosts.keep(this, this.#host);
            callback(null);
          },
          (reason: Error) => {
            destroyConnection(this);
            failed(reason);
          },
        );
      });
    }

    async #ask(wanted: WantedServer): Promise<void> {
      const ignore = (): void => undefined;
      // The error of a connection that breaks now reaches the caller by the statement.
      this.on('error', ignore);
      const timeout = setTimeout(() => failConnection(this, new Error('timeout expired')), hosts.hostMsMax ?? askMsMax);
      try {
        const { rows } = await super.query<{ isReadOnly: boolean; isStandby: boolean }>(facts);
        if (rows[0]?.isStandby !== false) throw readOnlyError('the server is a standby');
        if (wanted === 'read-write' && rows[0].isReadOnly) throw readOnlyError('the server is read-only');
      } finally {
        clearTimeout(timeout);
        this.off('error', ignore);
      }
    }

    #watch(): void {
      hosts.begin(this, () => failConnection(this, readOnlyError('the server was left: it takes no writes any more')));
      this.once('end', () => hosts.end(this));
      // Before the statement fails, so that its connection is not used again.
      this.connection.prependListener('errorMessage', ({ code = '' }: { code?: string }) => {
        if (code === readOnlyCode) hosts.leave(this);
        else if (closing.test(code)) hosts.discard(this);
      });
      this.connection.on('parameterStatus', (report: Report) => this.#leaveWhenReadOnly(report));
    }

    /**
     * The server reports a change of this setting with its next answer. Outside of a transaction that answer fails, since it
     * may be outdated: another server may be the primary. In one, a commit may have been answered just before.
     */
    #leaveWhenReadOnly({ parameterName, parameterValue }: Report): void {
      if (parameterName !== 'default_transaction_read_only' || parameterValue !== 'on') return;
      if (hosts.wanted === 'primary') return;
      hosts.leave(this);
      if (this.getTransactionStatus() === 'I') failConnection(this, readOnlyError('the server became read-only'));
    }

    /** The overloads of pg cannot be repeated here; callers see those of `pg.Client`. */
    override query(config: unknown, values?: unknown, ...more: unknown[]): never {
      this.#sendTogether();
      const name = prepared && typeof config === 'string' ? nameOfMarked(config) : undefined;
      // Looked up for each statement, so that a test can watch the method of pg.
      const send = super.query as unknown as Send;
      if (name === undefined) return send.call(this, config, values, ...more) as never;
      return send.call(this, { name, text: config, values }, undefined, ...more) as never;
    }

    /**
     * Statements that are sent in one turn of the event loop leave in one write: each write is a system call and wakes the
     * process of the server. The socket is uncorked after all promises that are ready now, and so after the statements that
     * these promises send.
     */
    #sendTogether(): void {
      if (this.#corked !== undefined) return;
      const socket = socketOf(this);
      this.#corked = socket;
      socket.cork();
      process.nextTick(this.#uncork);
    }

    readonly #uncork = (): void => {
      this.#corked?.uncork();
      this.#corked = undefined;
    };
  };

/**
 * A server that hangs without closing, or a network that drops every packet, never answers a statement: its caller would wait
 * for ever. The timeout of the socket ends such a connection, which the statement and the pool treat as a lost connection. It
 * costs nothing per statement.
 */
const endWhenSilent = (client: pg.Client, silentMsMax: number): void => {
  const socket = socketOf(client);
  socket.setTimeout(silentMsMax, () => {
    // No statement is running: the connection waits for notifications, or its owner does something else.
    if ((client as { readyForQuery?: boolean }).readyForQuery === true) return;
    socket.destroy(Object.assign(new Error('the database does not answer'), { code: 'ETIMEDOUT' }));
  });
};

/** Takes the silence timer off a session that has lifted its statement timeout. Close the session afterwards. */
export const allowSilence = (client: pg.Client): void => {
  socketOf(client).setTimeout(0);
};

/** Ends a connection at once, also when the server does not answer. */
export const destroyConnection = (client: pg.Client): void => {
  socketOf(client).destroy();
};

/** Ends a connection with the error, which every statement that waits gets, and so does the owner of the connection. */
const failConnection = (client: pg.Client, error: Error): void => {
  client.connection.emit('error', error);
  destroyConnection(client);
};

/** The id of the server's process; undefined before the connection is ready. */
export const serverPidOf = (client: object): number | undefined => {
  const pid: unknown = Reflect.get(client, 'processID');
  return typeof pid === 'number' ? pid : undefined;
};
