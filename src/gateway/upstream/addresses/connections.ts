/**
 * The connections to one address of an upstream, each for one request at a time. The connection released last is used next,
 * so no search is needed (undici's own pool searches twice per request), and connections of a burst close after it.
 *
 * Callers share them. One caller alone may have up to eight times as many as are left, so another one finds some at once; where
 * none is left, the next one goes to the caller that has fewest.
 */
import { type buildConnector, Client, type Dispatcher } from 'undici';
import { createTally } from '#src/platform/sharing/tally.ts';
import { createWaiters } from '#src/platform/sharing/waiters.ts';
import { createSkipInformational, type SkipInformational } from './undici/skip-informational.ts';

/** A request that needs a connection. */
export type Tracked = {
  /** The one it shares connections as. */
  readonly caller: string;
  readonly handler: Dispatcher.DispatchHandler;
  /** It cannot be sent twice, so it must not meet a connection that the other end is closing. */
  readonly needsFresh: boolean;
  /** Set when it gets a connection. To be called once, after the handler got the end or the failure. */
  release: (() => void) | undefined;
  /** Set while it waits for a connection; ends the wait. To be called when the answer is not needed any more. */
  leave: (() => void) | undefined;
  /** Called while it waits, when its turn goes to a caller with fewer requests that wait. It has to leave. */
  readonly yield: () => void;
};

export type Connections = {
  /** False: it waits for a connection. The handler gets every failure. */
  dispatch(options: Dispatcher.DispatchOptions, request: Tracked): boolean;
  /** Ends a waiting request of the caller with most of them. False: none has clearly more of them than this caller. */
  makeRoom(caller: string): boolean;
  /** Ends running and waiting requests. */
  destroy(): Promise<void>;
};

type Connection = {
  readonly client: Client;
  readonly informational: SkipInformational;
  readonly release: () => void;
  /** That of the request that has it. */
  caller: string;
  releasedMs: number;
};
type Waiting = { options: Dispatcher.DispatchOptions; request: Tracked };

/**
 * Services close connections that are idle for a while, and those of a process that stops. A request that crosses the end of
 * its connection fails, and it may have been carried out. A connection that was used a moment ago is not idle.
 */
const freshMsMax = 2_000;

/** chosen: one caller may have eight of nine connections, so a gateway with one caller is hardly slower for it. */
const heldPerFree = 8;

type ConnectionOptions = Client.Options & { connect: buildConnector.connector };

/** What it reads of an answer has no informational answers. `released`: the connection is free again. */
const createConnection = (
  origin: string,
  options: ConnectionOptions,
  released: (connection: Connection) => void,
): Connection => {
  const informational = createSkipInformational();
  const client = new Client(origin, {
    ...options,
    connect: (asked, callback) =>
      options.connect(asked, (...connected) => {
        if (connected[0] === null) informational.watch(connected[1]);
        callback(...connected);
      }),
  });
  const connection: Connection = {
    client,
    informational,
    caller: '',
    releasedMs: 0,
    release: () => {
      connection.releasedMs = performance.now();
      released(connection);
    },
  };
  return connection;
};

const isFresh = ({ releasedMs }: Connection): boolean => performance.now() - releasedMs <= freshMsMax;

const closeIdle = ({ client }: Connection): void => {
  // It rejects where the client was destroyed, as at the end of the program.
  client.close().catch(() => undefined);
};

/** The open connections. */
const createPool = (
  origin: string,
  connectionsMax: number,
  options: ConnectionOptions,
  released: (connection: Connection) => void,
) => {
  const all: Connection[] = [];
  const free: Connection[] = [];
  let ended = false;

  const open = (): Connection => {
    const connection = createConnection(origin, options, (freed) => {
      free.push(freed);
      released(freed);
    });
    // A request sent over it then fails at once.
    if (ended) void connection.client.destroy();
    all.push(connection);
    return connection;
  };

  /** The one that was released last. */
  const takeFree = (needsFresh: boolean): Connection | undefined => {
    const connection = free.pop();
    if (connection === undefined || !needsFresh || isFresh(connection)) return connection;
    all.splice(all.indexOf(connection), 1);
    closeIdle(connection);
    return undefined;
  };

  return {
    /** Connections that may be taken. */
    left: (): number => connectionsMax - all.length + free.length,
    take: (needsFresh: boolean): Connection | undefined =>
      takeFree(needsFresh) ?? (all.length < connectionsMax ? open() : undefined),
    destroy: async (): Promise<void> => {
      ended = true;
      await Promise.all(all.map(({ client }) => client.destroy()));
    },
  };
};

export const createConnections = (origin: string, connectionsMax: number, options: ConnectionOptions): Connections => {
  const held = createTally();
  const waiters = createWaiters<Waiting>();
  const pool = createPool(origin, connectionsMax, options, ({ caller }) => {
    held.drop(caller);
    // Deferred, since undici's client is still ending the request.
    if (waiters.size > 0) queueMicrotask(serveWaiters);
  });

  /** Undefined: the request has to wait. */
  const take = ({ caller, needsFresh }: Tracked): Connection | undefined =>
    held.of(caller) < heldPerFree * pool.left() ? pool.take(needsFresh) : undefined;

  const begin = (connection: Connection, { options: what, request }: Waiting): void => {
    held.add(request.caller);
    connection.caller = request.caller;
    request.release = connection.release;
    connection.informational.expectAnswer();
    connection.client.dispatch(what, request.handler);
  };

  const serveWaiters = (): void => {
    for (let next = waiters.next(held.of); next !== undefined; next = waiters.next(held.of)) {
      // The others have as many or more.
      const connection = take(next.value.request);
      if (connection === undefined) return;
      waiters.serve(next);
      next.value.request.leave = undefined;
      begin(connection, next.value);
    }
  };

  const wait = (what: Dispatcher.DispatchOptions, request: Tracked): void => {
    const waiter = waiters.add(request.caller, { options: what, request });
    request.leave = () => {
      waiters.remove(waiter);
      request.leave = undefined;
    };
  };

  return {
    dispatch: (what, request) => {
      const connection = take(request);
      if (connection === undefined) wait(what, request);
      else begin(connection, { options: what, request });
      return connection !== undefined;
    },
    makeRoom: (caller) => {
      const yielding = waiters.yielding(caller);
      yielding?.value.request.yield();
      return yielding !== undefined;
    },
    destroy: async () => {
      await pool.destroy();
      serveWaiters();
    },
  };
};
