/**
 * The connection of the pool: a client of one of several hosts (host-client.ts) that names marked statements, sends statements
 * together, and ends when the server stays silent.
 *
 * It leans on these parts of pg 8.23 that its documentation does not promise; test/platform/parity/pg.test.ts holds them:
 * - `new pg.Pool({ Client })` makes its connections from the class that it is given;
 * - `Pool` and kysely send through the method `query` of the client, so a subclass sees every statement;
 * - with `pipeline: true` a statement is written to the socket within `query`, without waiting for earlier answers;
 * - `client.connection.stream` is the `net.Socket` or `TLSSocket` of the connection, and stays the same once connected;
 * - `client.readyForQuery` is false from a statement until the server is ready for the next one;
 * - `client.processID` is the id of the server's process;
 * - `client.getStartupConf()` returns the parameters that a connection starts with.
 */
import type { Socket } from 'node:net';
import pg from 'pg';
import { hostClientClass } from './host-client.ts';
import type { Hosts } from './hosts.ts';
import { nameOfMarked } from './named.ts';

type Send = (this: pg.Client, ...sent: unknown[]) => unknown;

/** pg makes the stream itself, encrypted or not, so it is always a socket. */
const socketOf = (client: pg.Client): Socket => client.connection.stream as Socket;

type Startup = (this: pg.Client) => Record<string, string>;

/**
 * Settings of every session, whatever the operator set for the server, the database or the role: pg reads dates in this form only,
 * and the literals of statements are written for a server where a backslash is a character like any other.
 */
const startup = { datestyle: 'ISO, MDY', standard_conforming_strings: 'on' };

/** `isPooled`: a pooler shares the session with others, so its settings stay. `prepared`: marked statements get a name. */
type ClientOptions = { isPooled: boolean; prepared: boolean; hosts: Hosts };

/**
 * A class of clients that connect to one of `hosts`, and end when a statement gets no byte of answer for `silentMsMax`; 0:
 * never.
 */
export const clientClass = (silentMsMax: number, { isPooled, prepared, hosts }: ClientOptions): typeof pg.Client =>
  class extends hostClientClass(hosts) {
    #corked: Socket | undefined;

    constructor(config?: string | pg.ClientConfig) {
      super(config);
      // pg replaces the stream when the connection becomes encrypted, so the timer starts when it is ready.
      this.once('connect', () => endWhenSilent(this, silentMsMax));
    }

    /** Not in the types of pg. */
    getStartupConf(): Record<string, string> {
      const own = (Reflect.get(pg.Client.prototype, 'getStartupConf') as Startup).call(this);
      return isPooled ? own : { ...own, ...startup };
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

/** The id of the server's process; undefined before the connection is ready. */
export const serverPidOf = (client: object): number | undefined => {
  const pid: unknown = Reflect.get(client, 'processID');
  return typeof pid === 'number' ? pid : undefined;
};
