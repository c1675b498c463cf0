/** The members of an upstream in the file of routes: where it is, and the policy towards it. */
import { z } from 'zod';
import { mayBePassed } from './claimed-headers.ts';
import { identityMember } from './upstream-identity.ts';

/** Names of upstreams, in the settings and in the file of routes. */
export const upstreamName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, 'a name of lower-case letters, digits and hyphens');

/** The cell of tenants that the directory has in no other. */
export const defaultCell = 'default';

/** `http://host[:port]` or `https://host[:port]`. */
export const isUpstreamUrl = (value: string): boolean => {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.origin === value.replace(/\/$/, '');
};

const addressUrl = z
  .string()
  .refine(isUpstreamUrl, 'must be http://host[:port] or https://host[:port], without a path');

const weightedAddress = z.strictObject({
  url: addressUrl.meta({ description: '`http://host[:port]` or `https://host[:port]`, without a path' }),
  weight: z.int().min(1).max(1_000).default(1).meta({ description: 'Its share of the requests beside the others' }),
});

const address = z.union(
  [addressUrl, weightedAddress],
  'must be http://host[:port] or https://host[:port], without a path, or {"url": …, "weight": 1 to 1000}',
);

const hostName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/, 'a host name in lower case');

const file = (description: string) => z.string().min(1).optional().meta({ description });

const tls = z.strictObject({
  caFile: file('Authorities (PEM) that may sign the certificate of the service. Default: those of Node'),
  certFile: file('Certificate (PEM, with its chain) that the gateway presents to the service'),
  keyFile: file('Its private key (PEM, without a passphrase)'),
  serverName: hostName
    .optional()
    .meta({ description: 'Name that the certificate of the service must have. Default: the host of the address' }),
});

const health = z.strictObject({
  path: z
    .string()
    .max(1_024)
    .regex(/^\/[\x21\x22\x24-\x7e]*$/, 'a path such as /healthz, with a query if it needs one')
    .meta({ description: 'Path that is asked by GET; 200 to 399 is healthy' }),
  intervalMs: z.int().min(100).max(300_000).default(5_000).meta({ description: 'Time between two checks' }),
  timeoutMs: z.int().min(50).max(60_000).default(2_000).meta({ description: 'Longest check' }),
  healthyAfter: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .meta({ description: 'Good checks in a row after which the address is used again' }),
  unhealthyAfter: z
    .int()
    .min(1)
    .max(100)
    .default(3)
    .meta({ description: 'Failed checks in a row after which the address is left out' }),
});

const connections = z.strictObject({
  max: z.int().min(1).max(10_000).default(256).meta({
    description: 'Connections to one address. One caller has eight of nine of them at most, so that others find some',
  }),
  waitingMax: z.int().min(0).max(100_000).default(1_024).meta({
    description:
      'Requests that may wait for a connection; more are refused (503), those of the caller with most of them first',
  }),
});

const retries = z.strictObject({
  budgetPercent: z
    .int()
    .min(0)
    .max(100)
    .default(20)
    .meta({ description: 'Requests of the last 10 to 20 s that may be sent a second time, in percent' }),
  minPerSecond: z
    .int()
    .min(0)
    .max(10_000)
    .default(10)
    .meta({ description: 'Repeats in a second that are allowed whatever the share' }),
});

const cells = z
  .record(upstreamName, upstreamName)
  .refine(
    (byCell) => byCell[defaultCell] !== undefined,
    `needs \`${defaultCell}\`, the cell of tenants without another`,
  );

export const upstreamPolicy = z.strictObject({
  cells: cells.optional().meta({
    description:
      'Makes the name a group: name of a cell -> upstream of its own. A request goes to the cell that the directory names for its tenant (`/docs/cells`); `default` has all others. Every other member stands at the upstreams of the cells',
  }),
  addresses: z.array(address).min(1).max(100).optional().meta({
    description:
      'Where the service is: addresses such as `http://10.0.0.5:8081`, or `{"url": …, "weight": 2}`. Those of `ORDERPASS_UPSTREAMS` win',
  }),
  tls: tls.optional().meta({
    description: 'How https addresses are checked. Paths of files begin at the folder of this file',
  }),
  preserveHost: z.boolean().default(false).meta({
    description: 'The service gets the Host field of the caller. Otherwise it gets that of its address',
  }),
  timeouts: z
    .strictObject({
      connectMs: z.int().min(50).max(60_000).default(5_000).meta({
        description: 'Time to open a connection (502). `ORDERPASS_UPSTREAM_CONNECT_TIMEOUT_MS` wins',
      }),
    })
    .prefault({})
    .meta({ description: 'Longest waits in milliseconds. Those for answers stand at the routes' }),
  connections: connections.prefault({}).meta({
    description:
      'Bounds of the connections. `ORDERPASS_UPSTREAM_CONNECTIONS_MAX` and `ORDERPASS_UPSTREAM_WAITING_MAX` win',
  }),
  health: health.optional().meta({
    description: 'Checks of each address, beside the results of requests. Default: requests alone decide',
  }),
  retries: retries.prefault({}).meta({
    description:
      'How many requests may be sent a second time: when their connection was lost, or as GET when HEAD was refused',
  }),
  errors: z.enum(['translate', 'pass']).default('translate').meta({
    description:
      '`translate`: an error of the service becomes a body of the gateway with the same status. `pass`: it stays as the service wrote it, except 401 and 403, and 400 for callers with a token',
  }),
  identity: identityMember,
  passHeaders: z
    .array(z.string().refine(mayBePassed, 'a field in lower case that the gateway drops by default and does not set'))
    .default([])
    .meta({
      description:
        'Fields of callers that this upstream gets although the gateway drops them by default: `cookie`, or claims such as `x-forwarded-user`',
    }),
});

export type UpstreamPolicy = z.infer<typeof upstreamPolicy>;

export type WeightedAddress = { origin: string; weight: number };

/** The upstreams that requests to this name go to: those of its cells, or the name itself. */
export const upstreamsBehind = (
  name: string,
  upstreams: Readonly<Record<string, UpstreamPolicy | undefined>>,
): string[] => {
  const byCell = upstreams[name]?.cells;
  return byCell === undefined ? [name] : Object.values(byCell);
};

/** Empty: the file names none. */
export const addressesIn = ({ addresses = [] }: Pick<UpstreamPolicy, 'addresses'>): WeightedAddress[] =>
  addresses.map((one) => {
    const { url, weight } = typeof one === 'string' ? { url: one, weight: 1 } : one;
    return { origin: new URL(url).origin, weight };
  });
