/**
 * The connections to one address of an upstream, each for one request at a time. The connection released last is used next,
 * so no search is needed (undici's own pool searches twice per request), and connections of a burst close after it.
 */
import { Client, type Dispatcher } from 'undici';

/** A request that needs a connection. */
export type Tracked = {
  readonly handler: Dispatcher.DispatchHandler;
  /** Set when it gets a connection. To be called once, after the handler got the end or the failure. */
  release: (() => void) | undefined;
  /** The answer is not needed any more. */
  isOver: () => boolean;
};

export type Connections = {
  /** False: it waits for a connection. The handler gets every failure. */
  dispatch(options: Dispatcher.DispatchOptions, request: Tracked): boolean;
  /** Ends running and waiting requests. */
  destroy(): Promise<void>;
};

type Connection = { readonly client: Client; readonly release: () => void };
type Waiting = { options: Dispatcher.DispatchOptions; request: Tracked };

/** Dead connections are removed when there may be this many. */
const purgedMin = 64;

export const createConnections = (origin: string, connectionsMax: number, options: Client.Options): Connections => {
  const all: Connection[] = [];
  const free: Connection[] = [];
  let waiting: Waiting[] = [];
  let purgedAt = purgedMin;
  let ended = false;

  const begin = ({ client, release }: Connection, what: Dispatcher.DispatchOptions, request: Tracked): void => {
    request.release = release;
    client.dispatch(what, request.handler);
  };

  const serveWaiting = (): void => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (next.request.isOver()) continue;
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
      waiting = waiting.filter(({ request }) => !request.isOver());
      purgedAt = Math.max(purgedMin, 2 * waiting.length);
    }
    waiting.push(one);
  };

  const open = (): Connection => {
    const client = new Client(origin, options);
    // A request sent over it then fails at once.
    if (ended) void client.destroy();
    const connection: Connection = {
      client,
      release: () => {
        free.push(connection);
        // Deferred, since undici's client is still ending the request.
        if (waiting.length > 0) queueMicrotask(serveWaiting);
      },
    };
    all.push(connection);
    return connection;
  };

  return {
    dispatch: (what, request) => {
      const connection = free.pop() ?? (all.length < connectionsMax ? open() : undefined);
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
