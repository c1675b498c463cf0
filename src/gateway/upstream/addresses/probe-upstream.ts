/** Asks every address of an upstream once, from here and now: for people, beside the running gateways. */
import type { RouteTable } from '../../model/route.ts';
import { createAddress } from './address.ts';
import { probeAddress } from './probe-address.ts';
import { resolveUpstreams, type UpstreamSettings } from './resolve-upstreams.ts';

/** `works`: it passed its check, or accepted a connection where it has none. */
export type ProbedAddress = { address: string; weight: number; works: boolean };

const timeoutMs = 2_000;

/** Empty for a name without addresses. Throws when a file of TLS cannot be used. */
export const probeUpstream = async (
  name: string,
  { upstreams }: Pick<RouteTable, 'upstreams'>,
  urls: Readonly<Record<string, string>>,
  settings: UpstreamSettings,
): Promise<ProbedAddress[]> => {
  const policy = upstreams[name];
  const url = urls[name];
  const [options] = resolveUpstreams(
    policy === undefined ? {} : { [name]: policy },
    url === undefined ? {} : { [name]: url },
    settings,
  );
  if (options === undefined) return [];
  const { check, connectMs, connectionsMax, tls } = options;
  return Promise.all(
    options.addresses.map(async ({ origin, weight }) => {
      const address = createAddress(origin, weight, { connectMs, connectionsMax, tls });
      const probe = check === undefined ? ({ kind: 'connect' } as const) : { kind: 'check' as const, path: check.path };
      const works = await probeAddress(address, probe, check?.timeoutMs ?? timeoutMs, new AbortController().signal);
      return { address: origin, weight, works };
    }),
  );
};
