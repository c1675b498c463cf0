/**
 * The plain port beside the TLS port. It leads browsers to the public address and refuses everything else. A request with a
 * credential is refused too: a redirect would hide that the credential was readable on its way.
 */
import { useHttps } from '../model/faults.ts';
import type { Exchange } from '../request/exchange.ts';
import { announcesBody } from '../request/limit-body.ts';
import { readCredential } from '../request/read-credential.ts';
import { type BareDoorDeps, createBareDoor } from './bare-door.ts';
import type { DoorHandlers } from './front.ts';

/** The target of a redirect is made of the configured address, never of the Host of the request. */
export const createRedirectDoor = (deps: BareDoorDeps): DoorHandlers => {
  const { origin } = deps;
  return createBareDoor(deps, {
    strictTransport: undefined,
    answer: (exchange, write) => {
      // The next request is one for the public address.
      exchange.res.shouldKeepAlive = false;
      if (!mayRedirect(exchange)) throw useHttps(origin);
      // Not stored: a wrong address in the settings must not stay in caches.
      const headers = ['location', origin + exchange.target, 'cache-control', 'no-store'];
      write(exchange, { status: 308, headers, body: '' });
    },
    refusal: () => useHttps(origin),
  });
};

/** A target without a slash at its start is the absolute form, which would not follow an origin. */
const mayRedirect = (exchange: Exchange): boolean =>
  (exchange.method === 'GET' || exchange.method === 'HEAD') &&
  exchange.target.startsWith('/') &&
  !announcesBody(exchange) &&
  readCredential(exchange.req.rawHeaders, exchange.search, exchange.dpop).kind === 'none';
