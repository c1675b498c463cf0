/**
 * The public listener: one list of handlers, of which the first that owns the path of a request answers it. Every handler has
 * the bound on heads, the access log and the trace of the gateway. The gateway is the last handler and owns every path; the
 * documentation is among its pages (`createReference`).
 */
import type { IncomingMessage, RequestListener } from 'node:http';
import {
  attachDoor,
  createRedirectDoor,
  createStartingDoor,
  type DoorHandlers,
  type Gateway,
  gatewayServerOptions,
} from '#src/gateway/index.ts';
import type { Logger } from '#src/platform/log.ts';
import { type CreateServer, createPlainServer } from './listeners/certificates.ts';
import { type Listener, listen } from './listeners/listeners.ts';
import type { Settings } from './settings/config.ts';

/** A part of the program that answers some paths of the public listener. */
type PublicHandler = {
  /** `target`: path and query of a request. */
  owns(target: string): boolean;
  handle: RequestListener;
};

export type PublicListener = Listener & {
  /** The address of this listener on loopback. */
  localOrigin: string;
  /** The public address: the setting, or else `localOrigin`. */
  origin: string;
  /** Until this call every request gets 503. Handlers are asked in order, before the gateway. */
  serve(gateway: Gateway, handlers: readonly PublicHandler[]): void;
};

/**
 * Opens the port, and the plain port beside it where there is one. The port may be chosen by the system, and the issuer
 * contains it, so the port comes before the handlers.
 */
export const openPublicListener = async (
  settings: Settings,
  log: Logger,
  createServer: CreateServer = createPlainServer,
): Promise<PublicListener> => {
  let door: DoorHandlers | undefined;
  const server = createServer({
    ...gatewayServerOptions,
    shouldUpgradeCallback: (request: IncomingMessage) => door?.wantsUpgrade(request) ?? false,
  });
  const listener = await listen(server, settings.host, settings.port);
  const localOrigin = `${new URL(listener.url).protocol}//127.0.0.1:${listener.port}`;
  const origin = settings.origin ?? localOrigin;
  const starting = createStartingDoor({ settings: settings.gateway, origin, log });
  let handle: RequestListener = starting.handler;
  attachDoor(
    server,
    () => door ?? starting,
    (request, response) => handle(request, response),
  );
  const redirect = await openRedirect(settings, origin, log).catch(async (error: unknown) => {
    await listener.close(0);
    throw error;
  });
  return {
    ...listener,
    close: async (graceMs) => {
      await Promise.all([listener.close(graceMs), redirect?.close(graceMs)]);
    },
    localOrigin,
    origin,
    serve: (gateway, handlers) => {
      handle = firstOf(handlers, gateway);
      door = gateway;
    },
  };
};

/** The plain port: it redirects or refuses, and no request passes it. */
const openRedirect = (settings: Settings, origin: string, log: Logger): Promise<Listener | undefined> => {
  const { redirect_port: port } = settings.tls;
  if (port === undefined) return Promise.resolve(undefined);
  const door = createRedirectDoor({ settings: settings.gateway, origin, log });
  const server = createPlainServer({ ...gatewayServerOptions, shouldUpgradeCallback: door.wantsUpgrade });
  attachDoor(server, () => door);
  return listen(server, settings.host, port);
};

const firstOf = (handlers: readonly PublicHandler[], gateway: Gateway): RequestListener => {
  return (request, response) => {
    const target = request.url ?? '';
    for (const { owns, handle } of handlers)
      if (owns(target)) {
        if (!gateway.refuseHead(request, response)) handle(request, response);
        return;
      }
    gateway.handler(request, response);
  };
};
