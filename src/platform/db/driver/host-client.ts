/**
 * A connection to one of several hosts: a `pg.Client` that asks whether its server takes writes, and leaves it when it no longer
 * does.
 *
 * It leans on these parts of pg 8.23 that its documentation does not promise; test/platform/parity/pg.test.ts holds them:
 * - `client.connection` emits `errorMessage` and `parameterStatus` for these messages of the server, in their sequence;
 * - an event `error` of `client.connection` fails the statements that wait, also when their answers are being read;
 * - `Pool` connects by the method `connect` of the client, with a callback.
 */
import pg from 'pg';
import type { WantedServer } from './host-list.ts';
import { type Host, type Hosts, readOnlyCode, readOnlyError } from './hosts.ts';

/** With one host: the bound that a pool has for a new connection. */
const askMsMax = 5_000;

/** A setting of the session, as the server reports it when it changes. */
type Report = { parameterName: string; parameterValue: string };

type OnConnect = ((error: Error) => void) | ((error: null, client: pg.Client) => void);
type OnEnd = (error: Error | null) => void;

const facts = `select current_setting('transaction_read_only') = 'on' as "isReadOnly", pg_is_in_recovery() as "isStandby"`;

/** FATAL errors after which the server closes the connection, and class 08, after which its state is not known. */
const closing = /^(?:57P0[1-3]|08...)$/;

/** A class of clients that connect to the host that `hosts` picks. */
export const hostClientClass = (hosts: Hosts): typeof pg.Client =>
  class extends pg.Client {
    readonly #host: Host;

    constructor(config?: string | pg.ClientConfig) {
      const host = hosts.pick();
      const { hostMsMax } = hosts;
      const isOne = hostMsMax === undefined || typeof config === 'string';
      super(isOne ? config : { ...config, connectionString: host.address, connectionTimeoutMillis: hostMsMax });
      this.#host = host;
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
            this.connection.stream.destroy();
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
  };

/** Ends a connection with the error, which every statement that waits gets, and so does the owner of the connection. */
const failConnection = (client: pg.Client, error: Error): void => {
  client.connection.emit('error', error);
  client.connection.stream.destroy();
};
