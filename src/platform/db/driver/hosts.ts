/**
 * The hosts of a pool: which one is tried first, and which connections belong to a server that was left.
 *
 * Connections have a generation. When one finds that its server takes no writes any more, or a new one finds the primary on
 * another host, the generation ends: its idle connections are closed, those in use when they are released, and what is left
 * after `graceMs` is cut, such as sessions that hold a lock or listen. A server that was fenced or demoted may answer reads for
 * ever, so no connection may stay there.
 */
import pg from 'pg';
import { noteConnectFailure } from './connect-failures.ts';
import type { HostList, WantedServer } from './host-list.ts';
import { withStrictTls } from './strict-tls.ts';

/** chosen: transactions that can still be committed are, and a session with a lock is not kept for long. */
const graceMs = 500;
/** chosen: where every server is read-only, each refused write would otherwise close all connections. */
const leaveMsMin = 1_000;
const connectMsMax = 5_000;
/** chosen: enough for TLS and a password on a machine that has other work. */
const hostMsMin = 1_000;
/** chosen: enough when other connections move on at the same time; an address may also name a host twice. */
const triesPerHost = 3;

/** Of PostgreSQL: a write in a read-only transaction. */
export const readOnlyCode = '25006';

export const readOnlyError = (text: string): Error => Object.assign(new Error(text), { code: readOnlyCode });

export type Hosts = {
  wanted: WantedServer | undefined;
  /** How long one host may take, of 5 s for all; undefined with one host: the bound of the pool. */
  hostMsMax: number | undefined;
  /** The host for a new connection: where the last one was made, or the next one after a failure. */
  pick(): Host;
  /** Notes that a connection could not be made. */
  fail(host: Host, error: Error): void;
  /** Notes a connection before its server is asked. `cut`: ends it at once; called when its generation has been left. */
  begin(connection: object, cut: () => void): void;
  /** Notes that the server of the connection is the wanted one. */
  keep(connection: object, host: Host): void;
  end(connection: object): void;
  /** The server takes no writes any more: every connection of that generation leaves it. */
  leave(connection: object): void;
  /** The same for the current generation: another pool has left its server. */
  leaveCurrent(): void;
  /** Lets the connection end when it is released. */
  discard(connection: object): void;
  isLeft(connection: object): boolean;
  /** Calls `listener`, which must not throw, after each leaving. */
  onLeave(listener: () => void): void;
  /** Calls `connect` for one host after the other. Rejects with NoHostError, or with the error of the only host. */
  tryEach<T>(connect: () => Promise<T>): Promise<T>;
};

/** `address`: for pg. */
export type Host = { index: number; address: string };

/** No host could be used. The message names the reason of each, without secrets; `errors` holds them. */
export class NoHostError extends AggregateError {
  override readonly name = 'NoHostError';
}

type Member = { generation: number; cut(): void };

export const createHosts = ({ addresses, wanted }: HostList): Hosts => {
  const members = new Map<object, Member>();
  const discarded = new WeakSet<object>();
  const failures = new WeakMap<object, string>();
  const listeners: (() => void)[] = [];
  let [generation, first, leftAtMs] = [0, 0, Number.NEGATIVE_INFINITY];
  let kept: number | undefined;
  const cutLeft = (): void => {
    for (const member of [...members.values()]) if (member.generation < generation) member.cut();
  };
  const leaveCurrent = (): void => {
    const nowMs = performance.now();
    if (nowMs - leftAtMs < leaveMsMin) return;
    leftAtMs = nowMs;
    generation += 1;
    for (const listener of listeners) listener();
    setTimeout(cutLeft, graceMs).unref();
  };
  return {
    wanted,
    hostMsMax: addresses.length === 1 ? undefined : Math.max(hostMsMin, connectMsMax / addresses.length),
    pick: () => ({ index: first, address: withStrictTls(addresses[first] ?? addresses[0]) }),
    fail: ({ index, address }, error) => {
      failures.set(error, nameOf(address));
      noteConnectFailure(error);
      // Several connections may fail at the same host, which is left once.
      if (index === first) first = (first + 1) % addresses.length;
    },
    begin: (connection, cut) => members.set(connection, { generation, cut }),
    keep: (connection, { index }) => {
      const isMoved = kept !== undefined && kept !== index;
      first = index;
      kept = index;
      if (isMoved) leaveCurrent();
      // Its server was asked just now, so it belongs to the generation that others begin.
      const member = members.get(connection);
      if (member !== undefined) member.generation = generation;
    },
    end: (connection) => members.delete(connection),
    leave: (connection) => {
      discarded.add(connection);
      if (members.get(connection)?.generation === generation) leaveCurrent();
    },
    leaveCurrent,
    discard: (connection) => discarded.add(connection),
    isLeft: (connection) =>
      discarded.has(connection) || (members.get(connection)?.generation ?? generation) < generation,
    onLeave: (listener) => listeners.push(listener),
    tryEach: (connect) => tryEach(connect, { failures, count: addresses.length }),
  };
};

const tryEach = async <T>(
  connect: () => Promise<T>,
  { failures, count }: { failures: WeakMap<object, string>; count: number },
): Promise<T> => {
  const deadlineMs = performance.now() + connectMsMax;
  /** The last failure of each host. Other connections fail meanwhile and move on, so the next try may be at a host that has one. */
  const errors = new Map<string, Error>();
  for (let tries = 1; ; tries += 1) {
    try {
      return await connect();
    } catch (error) {
      // A wait for a free connection of the pool is no failure of a host.
      const host = error instanceof Error ? failures.get(error) : undefined;
      if (count === 1 || !(error instanceof Error) || host === undefined || isFinal(error)) throw error;
      errors.set(host, error);
    }
    if (errors.size < count && tries < count * triesPerHost && performance.now() < deadlineMs) continue;
    const reasons = [...errors].map(([host, error]) => `${host}: ${error.message}`);
    throw new NoHostError([...errors.values()], `no host of the address can be used: ${reasons.join('; ')}`);
  }
};

/**
 * The server refused the user, the database or a parameter of the connection, which another host would refuse as well. libpq
 * ends here too.
 */
const isFinal = (error: Error): boolean =>
  error instanceof pg.DatabaseError && /^(?:28|3D|42|08P01)/.test(error.code ?? '');

const nameOf = (address: string): string => /^[a-z]+:\/\/(?:[^/?#]*@)?([^/?#@]*)/.exec(address)?.[1] ?? '';
