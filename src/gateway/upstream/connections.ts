/**
 * The connections to one address of an upstream, each for one request at a time. The one that became free last is next: none
 * is searched for, as undici's own pool does twice for each request, and what a burst opened beyond need closes after it.
 */
import { Client, type Dispatcher } from 'undici';

/** A request, as seen from here. */
export type Tracked = {
  readonly handler: Dispatcher.DispatchHandler;
  /** Set when it gets a connection; to be called once, after the handler has heard of the end or the failure. */
  release: (() => void) | undefined;
  /** Nobody wants the answer any more. */
  isOver: () => boolean;
};

export type Connections = {
  /** False: it waits for a connection. The handler hears of every failure. */
  dispatch(options: Dispatcher.DispatchOptions, request: Tracked): boolean;
  /** Ends what runs and what waits. */
  destroy(): Promise<void>;
};

type Connection = { readonly client: Client; readonly release: () => void };
type Waiting = { options: Dispatcher.DispatchOptions; request: Tracked };

/** Fewer dead ones than these are not looked for. */
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
    // The live ones are bounded by whoever asks; the dead ones by this.
    if (waiting.length >= purgedAt) {
      waiting = waiting.filter(({ request }) => !request.isOver());
      purgedAt = Math.max(purgedMin, 2 * waiting.length);
    }
    waiting.push(one);
  };

  const open = (): Connection => {
    const client = new Client(origin, options);
    // What is sent through it then fails at once.
    if (ended) void client.destroy();
    const connection: Connection = {
      client,
      release: () => {
        free.push(connection);
        // Not at once: the client is still about to end the request.
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
