/**
 * Connections to receivers. A connection carries one request at a time, so that its timings belong to one attempt. It
 * goes only to addresses that were checked, and is reused only for the same origin, addresses and client certificate.
 */
import { isIP, Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { buildConnector, Client } from 'undici';

export type Connection = {
  client: Client;
  /** How long it took to open; undefined when it was open already. Reading resets the value. */
  takeOpening(): Opening | undefined;
  /** The address of the receiver; null before the connection is open. */
  address(): string | null;
};

type Opening = { connectMs: number; tlsMs: number | null };

/** For TLS, in PEM. Connections belong to the object: another one never gets them, even with the same certificate. */
export type ClientCertificate = { certificate: string; privateKey: string };

export type Connections = {
  take(origin: string, addresses: readonly string[], certificate?: ClientCertificate): Connection;
  /** `reusable`: the last response was read to its end. */
  release(connection: Connection, reusable: boolean): void;
  close(): Promise<void>;
};

/** chosen: idle connections kept open; a receiver beyond them needs a new connection for each attempt. */
const idleMax = 2_048;
/** chosen: shorter than the idle timeout of common servers (Node: 5 s), so that a reused connection is rarely closed. */
const keepAliveMs = 4_000;
/** chosen: longest idle time that a receiver can ask for with Keep-Alive. */
const keepAliveMsMax = 60_000;

export const createConnections = (timeoutMs: number): Connections => {
  /** A list stays while its connections are in use, because a map whose keys come and go keeps dead objects alive. */
  const idle = new Map<string, Connection[]>();
  const keys = new Map<Connection, string>();
  const numbers = new WeakMap<ClientCertificate, number>();
  let certificatesCount = 0;
  let idleCount = 0;

  const end = (connection: Connection): void => {
    const key = keys.get(connection);
    if (key !== undefined && idle.get(key)?.length === 0) idle.delete(key);
    keys.delete(connection);
    void connection.client.destroy().catch(() => undefined);
  };
  const endOldest = (): void => {
    for (const kept of idle.values()) {
      const connection = kept.shift();
      if (connection === undefined) continue;
      idleCount -= 1;
      return end(connection);
    }
  };
  const numberOf = (certificate: ClientCertificate): number => {
    const known = numbers.get(certificate);
    if (known !== undefined) return known;
    certificatesCount += 1;
    numbers.set(certificate, certificatesCount);
    return certificatesCount;
  };
  return {
    take: (origin, addresses, certificate) => {
      const target = `${origin} ${addresses.length === 1 ? addresses[0] : [...addresses].sort().join(' ')}`;
      const key = certificate === undefined ? target : `${target} #${numberOf(certificate)}`;
      const connection = idle.get(key)?.pop();
      if (connection !== undefined) {
        idleCount -= 1;
        return connection;
      }
      const opened = open(origin, addresses, timeoutMs, certificate);
      keys.set(opened, key);
      return opened;
    },
    release: (connection, reusable) => {
      const key = keys.get(connection);
      if (key === undefined || !reusable) return end(connection);
      const kept = idle.get(key) ?? [];
      kept.push(connection);
      idleCount += 1;
      // Moves the key to the end, so that the first key of the map was not used for longest. It has to be so only when one has to go.
      if (idleCount >= idleMax) idle.delete(key);
      idle.set(key, kept);
      if (idleCount > idleMax) endOldest();
    },
    close: async () => {
      await Promise.all([...keys.keys()].map(({ client }) => client.destroy()));
      keys.clear();
      idle.clear();
      idleCount = 0;
    },
  };
};

const open = (
  origin: string,
  addresses: readonly string[],
  timeoutMs: number,
  certificate: ClientCertificate | undefined,
): Connection => {
  let opening: Opening | undefined;
  let address: string | null = null;
  const checked = addresses.map((one) => ({ address: one, family: isIP(one) }));
  const connect = buildConnector({
    timeout: timeoutMs,
    allowH2: false,
    ...(certificate && { cert: certificate.certificate, key: certificate.privateKey }),
    // The name is not resolved again, because a second answer could differ from the checked one.
    lookup: (_host, options, done) => {
      const [first] = checked;
      if (options.all === true) done(null, checked);
      else done(null, first?.address ?? '', first?.family);
    },
  });
  const client = new Client(origin, {
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMsMax,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: (options, callback) => {
      const startedMs = performance.now();
      let connectedMs = startedMs;
      const onConnect = (socket: Socket): void => {
        connectedMs = performance.now();
        opening = { connectMs: Math.round(connectedMs - startedMs), tlsMs: null };
        address = socket.remoteAddress ?? null;
      };
      const socket: unknown = connect(options, (...result) => {
        if (opening !== undefined && options.protocol === 'https:' && result[1] !== null)
          opening.tlsMs = Math.round(performance.now() - connectedMs);
        callback(...result);
      });
      if (socket instanceof Socket) socket.once('connect', () => onConnect(socket));
    },
  });
  return {
    client,
    takeOpening: () => {
      const taken = opening;
      opening = undefined;
      return taken;
    },
    address: () => address,
  };
};
