/**
 * The public listener: one list of handlers, of which the first that owns the path of a request answers it. Every handler has
 * the bound on heads, the access log and the trace of the gateway. The gateway is the last handler and owns every path; the
 * documentation is among its pages (`createReference`).
 */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import {
  attachDoor,
  createStartingDoor,
  type DoorHandlers,
  type Gateway,
  gatewayServerOptions,
} from '#src/gateway/index.ts';
import type { Logger } from '#src/platform/log.ts';
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

/** Opens the port. It may be chosen by the system, and the issuer contains it, so the port comes before the handlers. */
export const openPublicListener = async (settings: Settings, log: Logger): Promise<PublicListener> => {
  let door: DoorHandlers | undefined;
  const server = createServer({
    ...gatewayServerOptions,
    shouldUpgradeCallback: (request: IncomingMessage) => door?.wantsUpgrade(request) ?? false,
  });
  const listener = await listen(server, settings.host, settings.port);
  const localOrigin = `http://127.0.0.1:${listener.port}`;
  const origin = settings.origin ?? localOrigin;
  const starting = createStartingDoor({ settings: settings.gateway, origin, log });
  let handle: RequestListener = starting.handler;
  attachDoor(
    server,
    () => door ?? starting,
    (request, response) => handle(request, response),
  );
  return {
    ...listener,
    localOrigin,
    origin,
    serve: (gateway, handlers) => {
      handle = firstOf(handlers, gateway);
      door = gateway;
    },
  };
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
