/** The services behind the gateway: one bounded pool of connections each. */
import { Pool } from 'undici';

export type Upstream = {
  readonly name: string;
  readonly pool: Pool;
  /** Requests that have a connection or wait for one. */
  inFlight: number;
  readonly inFlightMax: number;
};

type UpstreamSettings = {
  upstream_connect_timeout_ms: number;
  upstream_connections_max: number;
  upstream_waiting_max: number;
};

/** Above this an upstream's header is a broken answer. */
const headerBytesMax = 64 * 1024;

export const createUpstreams = (
  urls: Readonly<Record<string, string>>,
  settings: UpstreamSettings,
): ReadonlyMap<string, Upstream> =>
  new Map(
    Object.entries(urls).map(([name, url]) => [
      name,
      {
        name,
        pool: new Pool(new URL(url).origin, {
          connections: settings.upstream_connections_max,
          // One request per connection at a time: a slow or broken answer must never stand before another caller's.
          pipelining: 1,
          connectTimeout: settings.upstream_connect_timeout_ms,
          maxHeaderSize: headerBytesMax,
          allowH2: false,
        }),
        inFlight: 0,
        inFlightMax: settings.upstream_connections_max + settings.upstream_waiting_max,
      },
    ]),
  );
