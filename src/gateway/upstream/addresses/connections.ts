/**
 * The connections to one address of an upstream, each for one request at a time. The connection released last is used next,
 * so no search is needed (undici's own pool searches twice per request), and connections of a burst close after it.
 */
import { type buildConnector, Client, type Dispatcher } from 'undici';
import { createSkipInformational, type SkipInformational } from './undici/skip-informational.ts';

/** A request that needs a connection. */
export type Tracked = {
  readonly handler: Dispatcher.DispatchHandler;
  /** It cannot be sent twice, so it must not meet a connection that the other end is closing. */
  readonly needsFresh: boolean;
  /** Set when it gets a connection. To be called once, after the handler got the end or the failure. */
  release: (() => void) | undefined;
  /** The answer is not needed any more. */
  isOver: boolean;
};

export type Connections = {
  /** False: it waits for a connection. The handler gets every failure. */
  dispatch(options: Dispatcher.DispatchOptions, request: Tracked): boolean;
  /** Ends running and waiting requests. */
  destroy(): Promise<void>;
};

type Connection = {
  readonly client: Client;
  readonly informational: SkipInformational;
  readonly release: () => void;
  releasedMs: number;
};
type Waiting = { options: Dispatcher.DispatchOptions; request: Tracked };

/**
 * Services close connections that are idle for a while, and those of a process that stops. A request that crosses the end of
 * its connection fails, and it may have been carried out. A connection that was used a moment ago is not idle.
 */
const freshMsMax = 2_000;

/** Dead connections are removed when there may be this many. */
const purgedMin = 64;

type ConnectionOptions = Client.Options & { connect: buildConnector.connector };

/** What it reads of an answer has no informational answers. */
const openClient = (origin: string, options: ConnectionOptions): Pick<Connection, 'client' | 'informational'> => {
  const informational = createSkipInformational();
  const client = new Client(origin, {
    ...options,
    connect: (asked, callback) =>
      options.connect(asked, (...connected) => {
        if (connected[0] === null) informational.watch(connected[1]);
        callback(...connected);
      }),
  });
  return { client, informational };
};

export const createConnections = (origin: string, connectionsMax: number, options: ConnectionOptions): Connections => {
  const all: Connection[] = [];
  const free: Connection[] = [];
  let waiting: Waiting[] = [];
  let purgedAt = purgedMin;
  let ended = false;

  const begin = (connection: Connection, what: Dispatcher.DispatchOptions, request: Tracked): void => {
    request.release = connection.release;
    connection.informational.expectAnswer();
    connection.client.dispatch(what, request.handler);
  };

  const serveWaiting = (): void => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (next.request.isOver) continue;
      const connection = free.pop();
      if (connection === undefined) {
        waiting.unshift(next);
        return;
      }
      begin(connection, next.options, next.request);
    }
  };

  const wait = (one: Waiting): void => {
    // The caller bounds the live connections; this bounds the dead ones.
    if (waiting.length >= purgedAt) {
      waiting = waiting.filter(({ request }) => !request.isOver);
      purgedAt = Math.max(purgedMin, 2 * waiting.length);
    }
    waiting.push(one);
  };

  const open = (): Connection => {
    const { client, informational } = openClient(origin, options);
    // A request sent over it then fails at once.
    if (ended) void client.destroy();
    const connection: Connection = {
      client,
      informational,
      releasedMs: 0,
      release: () => {
        connection.releasedMs = performance.now();
        free.push(connection);
        // Deferred, since undici's client is still ending the request.
        if (waiting.length > 0) queueMicrotask(serveWaiting);
      },
    };
    all.push(connection);
    return connection;
  };

  /** The one that was released last. */
  const takeFree = (needsFresh: boolean): Connection | undefined => {
    const connection = free.pop();
    if (connection === undefined || !needsFresh) return connection;
    if (performance.now() - connection.releasedMs <= freshMsMax) return connection;
    all.splice(all.indexOf(connection), 1);
    // It rejects where the client was destroyed, as at the end of the program.
    connection.client.close().catch(() => undefined);
    return undefined;
  };

  return {
    dispatch: (what, request) => {
      const connection = takeFree(request.needsFresh) ?? (all.length < connectionsMax ? open() : undefined);
      if (connection === undefined) wait({ options: what, request });
      else begin(connection, what, request);
      return connection !== undefined;
    },
    destroy: async () => {
      ended = true;
      await Promise.all(all.map(({ client }) => client.destroy()));
      serveWaiting();
    },
  };
};
