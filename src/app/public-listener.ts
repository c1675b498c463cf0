/**
 * The public listener: one list of handlers, of which the first that owns the path of a request answers it. Every handler has
 * the bound on heads, the access log and the trace of the gateway. The gateway is the last handler and owns every path; the
 * documentation is among its pages (`createReference`).
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import {
  attachDoor,
  type ConnectionBound,
  createRedirectDoor,
  createStartingDoor,
  type DoorHandlers,
  type Gateway,
  gatewayServerOptions,
} from '#src/gateway/index.ts';
import type { Logger } from '#src/platform/log.ts';
import { type CreateServer, createPlainServer } from './listeners/certificates.ts';
import { type Listener, listen, urlOf } from './listeners/listeners.ts';
import type { Settings } from './settings/config.ts';

/** A part of the program that answers some paths of the public listener. */
type PublicHandler = {
  /** `target`: path and query of a request. */
  owns(target: string): boolean;
  handle: RequestListener;
};

export type PublicListener = Omit<Listener, 'port'> & {
  /** The address of this listener on loopback. */
  localOrigin: string;
  /** The public address: the setting, or else `localOrigin`. */
  origin: string;
  /** Until this call every request gets 503, or no connection is taken. Handlers are asked in order, before the gateway. */
  serve(gateway: Gateway, handlers: readonly PublicHandler[]): Promise<void>;
};

type PublicListenerOptions = {
  createServer: CreateServer | undefined;
  /** The port opens with `serve`: other processes have it too, and take the requests meanwhile. The port is a fixed one. */
  opensLate: boolean;
  /** Of the port and the plain port together. */
  bound: ConnectionBound;
};

/**
 * Opens the port, and the plain port beside it where there is one. The port may be chosen by the system, and the issuer
 * contains it, so the port comes before the handlers.
 */
export const openPublicListener = async (
  settings: Settings,
  log: Logger,
  { createServer = createPlainServer, opensLate, bound }: PublicListenerOptions,
): Promise<PublicListener> => {
  let door: DoorHandlers | undefined;
  const server = createServer({
    ...gatewayServerOptions,
    shouldUpgradeCallback: (request: IncomingMessage) => door?.wantsUpgrade(request) ?? false,
  });
  bound.watch(server);
  const ports: Listener[] = [];
  const close = async (graceMs: number): Promise<void> => {
    await Promise.all(ports.map((port) => port.close(graceMs)));
  };
  const first = opensLate ? undefined : await listen(server, settings.host, settings.port);
  if (first !== undefined) ports.push(first);
  const url = first?.url ?? urlOf(server, settings.host, settings.port);
  const localOrigin = `${new URL(url).protocol}//127.0.0.1:${first?.port ?? settings.port}`;
  const origin = settings.origin ?? localOrigin;
  const starting = createStartingDoor({ settings: settings.gateway, origin, log });
  attachDoor(server, () => door ?? starting);
  const openRest = async (): Promise<void> => {
    try {
      if (first === undefined) ports.push(await listen(server, settings.host, settings.port));
      const redirect = await openRedirect(settings, origin, log, bound);
      if (redirect !== undefined) ports.push(redirect);
    } catch (error) {
      await close(0);
      throw error;
    }
  };
  if (!opensLate) await openRest();
  return {
    url,
    announceEnd: () => {
      for (const port of ports) port.announceEnd();
    },
    close,
    localOrigin,
    origin,
    serve: async (gateway, handlers) => {
      door = inFrontOf(gateway, handlers);
      if (opensLate) await openRest();
    },
  };
};

/** The plain port: it redirects or refuses, and no request passes it. */
const openRedirect = (
  settings: Settings,
  origin: string,
  log: Logger,
  bound: ConnectionBound,
): Promise<Listener | undefined> => {
  const { redirect_port: port } = settings.tls;
  if (port === undefined) return Promise.resolve(undefined);
  const door = createRedirectDoor({ settings: settings.gateway, origin, log });
  const server = createPlainServer({ ...gatewayServerOptions, shouldUpgradeCallback: door.wantsUpgrade });
  bound.watch(server);
  attachDoor(server, () => door);
  return listen(server, settings.host, port);
};

/** The gateway's door with the handlers before it, for requests with and without `Expect`. */
const inFrontOf = (gateway: Gateway, handlers: readonly PublicHandler[]): DoorHandlers => {
  const firstOf = (last: RequestListener, begin?: (response: ServerResponse) => void): RequestListener => {
    return (request, response) => {
      const target = request.url ?? '';
      const first = handlers.find(({ owns }) => owns(target));
      if (first === undefined) return last(request, response);
      if (gateway.refuseHead(request, response)) return;
      begin?.(response);
      first.handle(request, response);
    };
  };
  return {
    ...gateway,
    handler: firstOf(gateway.handler),
    // The handlers know nothing of `Expect`, so the body is asked for as Node does it by itself. Other expectations are
    // refused by the gateway on every path.
    continueHandler: firstOf(gateway.continueHandler, (response) => response.writeContinue()),
  };
};
