/** One address of an upstream: how a connection to it is opened, its bounded pool of connections, and its health. */
import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { ClientTls } from '#src/platform/http/tls/read-client-tls.ts';
import { createHealth, type Health } from './address-health.ts';
import type { Choosable } from './choose-address.ts';
import { type Connections, createConnections } from './connections.ts';

export type Address = Choosable & {
  readonly origin: string;
  /** Value of the Host field that names this address. */
  readonly host: string;
  /** For undici: a name that does not change, since a request whose Host field differs would close the connection. */
  readonly servername: string | undefined;
  readonly connections: Connections;
  readonly health: Health;
  /** Opens a connection of its own, with TLS where the address is https. */
  readonly open: () => Promise<Socket>;
};

/** `serverName`: name that the certificate must have. Default: the host of the address. */
export type AddressTls = ClientTls & { serverName?: string | undefined };

export type AddressOptions = { connectMs: number; connectionsMax: number; tls: AddressTls | undefined };

/** Above this an upstream's header is a broken answer. */
const headerBytesMax = 64 * 1024;

export const createAddress = (origin: string, weight: number, options: AddressOptions): Address => {
  const { host, hostname, protocol, port } = new URL(origin);
  const { connectMs, connectionsMax, tls } = options;
  const { serverName = '', ...certificates } = tls ?? {};
  const connector = buildConnector({ ...certificates, allowH2: false, timeout: connectMs });
  // One connector for all connections, so that they share TLS sessions. An IP address as host is no server name.
  const connect: buildConnector.connector = (asked, callback) =>
    connector({ ...asked, servername: serverName }, callback);
  return {
    origin,
    weight,
    host,
    servername: protocol === 'https:' ? serverName || hostname : undefined,
    connections: createConnections(origin, connectionsMax, {
      // One request per connection at a time: a slow or broken answer must never block the answer to another caller.
      pipelining: 1,
      connect,
      maxHeaderSize: headerBytesMax,
      allowH2: false,
    }),
    health: createHealth(),
    inFlight: 0,
    credit: 0,
    open: () =>
      new Promise((resolve, reject) => {
        // Brackets of an IPv6 address are of the URL.
        const asked = { host, hostname: hostname.replace(/^\[|\]$/g, ''), protocol, port };
        connect(asked, (error, socket) => (error === null ? resolve(socket) : reject(error)));
      }),
  };
};
