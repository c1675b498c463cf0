/** The Helm chart: what it renders is what Kubernetes and the program accept. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { root } from '../../support/program.ts';
import { hasProgram, runProgram } from './programs.ts';
import { makeSecrets, problemsOf, secretNames, secretsAmong, unknownNames } from './settings-of.ts';

type Json = ReturnType<typeof JSON.parse>;

const chart = join(root, 'config/helm/orderpass');
const textOf = (path: string): string => readFileSync(join(chart, path), 'utf8');
const templates = readdirSync(join(chart, 'templates')).map((name) => textOf(`templates/${name}`));
const values = parse(textOf('values.yaml')) as Json;
const guide = readFileSync(join(root, 'config/deployment.md'), 'utf8');
const schema = JSON.parse(textOf('values.schema.json')) as Json;

const hasHelm = hasProgram('helm', ['version']);
const hasKubeconform = hasHelm && hasProgram('kubeconform', ['-v']);
/** Folders vN.N.N-local-strict with a schema for each kind, as the Python package kubernetes-validate brings them. */
const schemas = process.env.TEST_KUBERNETES_SCHEMAS;
if (hasKubeconform && schemas === undefined)
  process.stderr.write('skipped: kubeconform, since TEST_KUBERNETES_SCHEMAS names no schemas (test/README.md)\n');

let secrets: string;
let folder: string;

beforeAll(() => {
  secrets = makeSecrets();
  folder = mkdtempSync(join(tmpdir(), 'orderpass-chart-'));
});

afterAll(() => {
  for (const path of [secrets, folder]) rmSync(path, { recursive: true });
});

const accepts = (change: (all: Json) => void): boolean => {
  const all = structuredClone(values);
  change(all);
  return new Ajv({ allowUnionTypes: true }).compile(schema)(all);
};

test('A-272 the schema of the values takes the defaults, and refuses unknown names and wrong values', () => {
  expect(accepts(() => undefined)).toBe(true);
  expect(accepts((all) => Object.assign(all, { origin: 'https://api.example', env: { TZ: 'UTC' } }))).toBe(true);
  const wrong: ((all: Json) => void)[] = [
    (all) => Object.assign(all, { replicas: 3 }),
    (all) => Object.assign(all, { origin: 'https://api.example/shop' }),
    (all) => Object.assign(all, { origin: 'api.example' }),
    (all) => Object.assign(all.roles.worker, { replicas: 0 }),
    (all) => Object.assign(all.roles, { all: all.roles.gateway }),
    (all) => Object.assign(all.image, { digest: 'latest' }),
    (all) => Object.assign(all.secrets, { master_key: 'c2VjcmV0' }),
    (all) => Object.assign(all.authorities, { secret: 'authority', configMap: 'authority' }),
    (all) => Object.assign(all.authorities, { configMap: 'authority', keys: ['../ca.crt'] }),
    (all) => Object.assign(all.env, { NODE_EXTRA_CA_CERTS: '/ca.crt' }),
    (all) => Object.assign(all.networkPolicy, { databasePorts: [] }),
    (all) => Object.assign(all, { listenHost: '10.0.0.1' }),
  ];
  for (const change of wrong) expect([change.toString(), accepts(change)]).toEqual([change.toString(), false]);
});

test('A-272 the longest drain and grace that the chart takes are the longest with which the program starts', () => {
  for (const [name, variable] of [
    ['drainMs', 'ORDERPASS_DRAIN_MS'],
    ['graceMs', 'ORDERPASS_GRACE_MS'],
  ] as const) {
    const longest = schema.properties[name].maximum as number;
    const isRefused = (ms: number): boolean =>
      problemsOf({ [variable]: String(ms) }).join() !== problemsOf({ [variable]: '1' }).join();
    expect([name, isRefused(longest), isRefused(longest + 1)]).toEqual([name, false, true]);
  }
});

test('A-272 no value of the chart takes a secret, and every secret can be named by its key', () => {
  expect(secretNames.length).toBeGreaterThan(5);
  for (const name of secretNames) {
    expect([name, accepts((all) => Object.assign(all.env, { [name]: 'x' }))]).toEqual([name, false]);
    const ofRole = accepts((all) => Object.assign(all.roles.gateway.env, { [`${name}_FILE`]: '/x' }));
    expect([name, ofRole]).toEqual([name, false]);
  }
  const own = ['ORDERPASS_MASTER_KEY', 'DATABASE_URL', 'REDIS_URL'];
  const named = schema.properties.secrets.properties.more.propertyNames.enum as string[];
  expect([...own, ...named].toSorted()).toEqual(secretNames.toSorted());
});

/** `a.b.c` of every value that is no list and no empty object. */
const leavesOf = (value: Json, path = ''): string[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
    ? Object.entries(value).flatMap(([key, one]) => leavesOf(one, path === '' ? key : `${path}.${key}`))
    : [path];

test('A-272 the templates read every value, and only values that exist', () => {
  const text = templates.join('\n');
  const used = [...text.matchAll(/\.Values\.([\w.]+)/g)].map(([, path = '']) => path);
  expect(used.length).toBeGreaterThan(30);
  const at = (path: string): unknown => path.split('.').reduce((all, key) => all?.[key], values);
  expect(used.filter((path) => at(path) === undefined)).toEqual([]);
  const passedOn = /\.(resources|dataVolume)\./;
  const unread = leavesOf(values).filter(
    (path) => !passedOn.test(path) && !text.includes(path.split('.').at(-1) ?? ''),
  );
  expect(unread).toEqual([]);
  const names = [...text.matchAll(/\b(?:ORDERPASS_|OTEL_)[A-Z_]+|\b(?:DATABASE|REDIS)_URL(?:_FILE)?/g)].map(
    ([name]) => name,
  );
  expect(unknownNames([...new Set(names)])).toEqual([]);
});

test('A-272 every role may reach public addresses for webhooks and their tests, and the migration may not', () => {
  const policies = textOf('templates/network-policies.yaml');
  const conditions = [...policies.slice(0, policies.indexOf('0.0.0.0/0')).matchAll(/{{- if (.*) }}/g)];
  expect(conditions.at(-1)?.[1]).toBe('ne $role "migrate"');
  expect(policies.match(/range \$policy\.webhookPorts/g)).toHaveLength(1);
});

test('A-563 A-564 the chart takes authorities from a Secret or a ConfigMap, and several ports of the database', () => {
  for (const authorities of [
    { secret: 'authority', keys: ['db.pem', 'redis.pem'], trusted: 'db.pem' },
    { configMap: 'authority', keys: ['ca.crt'] },
  ])
    expect([authorities, accepts((all) => Object.assign(all, { authorities }))]).toEqual([authorities, true]);
  const migrate = [{ ports: [{ port: 5433 }] }];
  const change = (all: Json): void => {
    Object.assign(all.networkPolicy, { databasePorts: [6432, 5432] });
    Object.assign(all.networkPolicy.moreEgress, { migrate });
  };
  expect(accepts(change)).toBe(true);
});

test('A-272 the chart has the version of the program', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const meta = parse(textOf('Chart.yaml')) as { version: string; appVersion: string };
  expect([meta.version, meta.appVersion]).toEqual([version, version]);
});

const origin = 'https://api.example';

/** Everything that the defaults leave out. */
const everything = {
  origin,
  image: { repository: 'registry.example/orderpass', digest: `sha256:${'0'.repeat(64)}`, pullSecrets: ['registry'] },
  secrets: { server: 'shop', redis: true, more: { ORDERPASS_METRICS_TOKEN: 'metrics_token' } },
  migrate: { enabled: true, secret: 'shop-owner', grantTo: 'orderpass_server' },
  env: { ORDERPASS_LOG_LEVEL: 'warn', ORDERPASS_DATABASE_CONNECTIONS_MAX: '10' },
  roles: { worker: { env: { ORDERPASS_WEBHOOK_CONCURRENCY_MAX: '64' }, autoscaling: { enabled: false } } },
  routesConfigMap: 'routes',
  authorities: { secret: 'authority', keys: ['db.pem', 'redis.pem'], trusted: 'db.pem' },
  tlsSecret: 'api-tls',
  service: { type: 'LoadBalancer', port: 443, annotations: { 'example.com/a': 'b' } },
  networkPolicy: {
    callersFrom: [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }],
    metricsFrom: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
    databaseTo: [{ ipBlock: { cidr: '10.0.0.5/32' } }],
    databasePorts: [6432, 5432],
    redisTo: [{ podSelector: { matchLabels: { app: 'redis' } } }],
    moreEgress: { gateway: [{ ports: [{ port: 4318 }] }], migrate: [{ ports: [{ port: 5433 }] }] },
  },
  podAnnotations: { 'example.com/a': 'b' },
  podLabels: { team: 'shop' },
  nodeSelector: { disk: 'fast' },
  tolerations: [{ key: 'a', operator: 'Exists' }],
};

const render = async (given: object, release = 'shop'): Promise<{ text: string; all: Json[] }> => {
  const file = join(folder, 'values.json');
  writeFileSync(file, JSON.stringify(given));
  const { code, stdout, stderr } = await runProgram('helm', [
    'template',
    release,
    chart,
    '-f',
    file,
    '--kube-version',
    '1.30.0',
  ]);
  if (code !== 0) throw new Error(stderr);
  return {
    text: stdout,
    all: parseAllDocuments(stdout)
      .map((one) => one.toJS() as Json)
      .filter((one) => one !== null),
  };
};

const ofKind = (all: readonly Json[], kind: string): Json[] => all.filter((one) => one.kind === kind);

const envOf = (container: Json): Record<string, string> =>
  Object.fromEntries((container.env as { name: string; value: string }[]).map(({ name, value }) => [name, value]));

const given: [string, object][] = [
  ['only an origin', { origin }],
  ['every value', everything],
  [
    'one role of the database and no Redis',
    { origin, secrets: { redis: false }, migrate: { enabled: false, onStart: 'auto' } },
  ],
];

test.runIf(hasHelm)(
  'A-272 helm lint finds nothing, and no release is made without an origin or with a secret',
  async () => {
    const { code, stdout } = await runProgram('helm', ['lint', '--strict', chart]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
    await expect(render({})).rejects.toThrow('set origin');
    await expect(render({ origin, env: { DATABASE_URL: 'postgresql://a' } })).rejects.toThrow('DATABASE_URL');
  },
);

test.runIf(hasHelm).each(given)(
  'A-272 with %s, every role starts with settings that the program accepts',
  async (_what, of) => {
    const { all } = await render(of);
    const deployments = ofKind(all, 'Deployment');
    expect(deployments.map(({ metadata }) => metadata.name).toSorted()).toEqual([
      'shop-gateway',
      'shop-ordering',
      'shop-worker',
    ]);
    const services = ofKind(all, 'Service').map(
      ({ metadata, spec }) => `http://${metadata.name}:${spec.ports[0].port}`,
    );
    for (const { spec } of [...deployments, ...ofKind(all, 'Job')]) {
      const [container] = spec.template.spec.containers;
      const env = envOf(container);
      // Node reads the one that is left out.
      expect(unknownNames(Object.keys(env).filter((name) => name !== 'NODE_EXTRA_CA_CERTS'))).toEqual([]);
      expect(secretsAmong(Object.keys(env))).toEqual([]);
      if (env.ORDERPASS_UPSTREAMS !== undefined) expect(services).toContain(env.ORDERPASS_UPSTREAMS.split('=')[1]);
      const mounted = (spec.template.spec.volumes as Json[]).flatMap(({ secret }) => secret?.items ?? []);
      const { ORDERPASS_ROUTES_FILE: _, ORDERPASS_TLS_CERT_FILE: __, ORDERPASS_TLS_KEY_FILE: ___, ...rest } = env;
      const filled = Object.entries(rest).map(([name, value]) => [
        name,
        value.replace('/run/secrets/orderpass', secrets),
      ]);
      for (const value of Object.values(rest).filter((one) => one.startsWith('/run/secrets')))
        expect(mounted.map(({ path }) => `/run/secrets/orderpass/${path}`)).toContain(value);
      // The image sets the port of the internal listener.
      expect(
        problemsOf({ NODE_ENV: 'production', ORDERPASS_INTERNAL_PORT: '8081', ...Object.fromEntries(filled) }),
      ).toEqual([]);
    }
  },
);

test.runIf(hasHelm)(
  'A-272 pods run without rights on a read-only file system, are probed by their internal listener, and may drain',
  async () => {
    const { all } = await render({ origin });
    for (const { kind, spec } of [...ofKind(all, 'Deployment'), ...ofKind(all, 'Job')]) {
      const pod = spec.template.spec;
      const [container] = pod.containers;
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
      });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      if (kind === 'Job') continue;
      const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((name) => container[name].httpGet);
      const [alive, ready] = ['/healthz', '/readyz'].map((path) => ({ path, port: 'internal' }));
      expect(probes).toEqual([alive, alive, ready]);
      expect(container.ports).toContainEqual({ name: 'internal', containerPort: 8081 });
      const env = envOf(container);
      const stopMs = Number(env.ORDERPASS_DRAIN_MS) + Number(env.ORDERPASS_GRACE_MS);
      expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(stopMs + 5_000);
    }
  },
);

test.runIf(hasHelm)(
  'A-272 every role has a budget and a policy for its own pods, and scales unless that is off',
  async () => {
    const { all } = await render(everything);
    const selectors = new Map(
      ofKind(all, 'Deployment').map(({ metadata, spec }) => [metadata.name, spec.selector.matchLabels] as const),
    );
    for (const [name, labels] of selectors) {
      const named = (kind: string): Json => ofKind(all, kind).find(({ metadata }) => metadata.name === name);
      expect(named('PodDisruptionBudget').spec.selector.matchLabels).toEqual(labels);
      expect(named('NetworkPolicy').spec.podSelector.matchLabels).toEqual(labels);
      expect(named('HorizontalPodAutoscaler')?.spec.scaleTargetRef.name).toBe(
        name === 'shop-worker' ? undefined : name,
      );
    }
    expect(new Set([...selectors.values()].map((one) => JSON.stringify(one))).size).toBe(3);
    const [job] = ofKind(all, 'Job');
    expect(job.metadata.annotations['helm.sh/hook']).toBe('pre-install,pre-upgrade');
    expect(job.spec.template.spec.containers[0].args).toEqual(['migrate', '--grant-to', 'orderpass_server']);
    expect(job.spec.template.spec.volumes[1].secret.secretName).toBe('shop-owner');
  },
);

test('A-272 the pods of the roles and of the migration have the labels and the place of the values', () => {
  for (const name of ['deployments.yaml', 'migrate-job.yaml'])
    for (const part of ['podLabels', 'placement', 'podSecurity'])
      expect([name, part, textOf(`templates/${name}`).includes(`include "orderpass.${part}"`)]).toEqual([
        name,
        part,
        true,
      ]);
});

test.runIf(hasHelm)('A-272 the migration runs where the pods of the roles may run, with their labels', async () => {
  const { all } = await render(everything);
  const pods = [...ofKind(all, 'Deployment'), ...ofKind(all, 'Job')].map(({ spec }) => spec.template);
  expect(pods).toHaveLength(4);
  for (const { metadata, spec } of pods) {
    const { nodeSelector, tolerations, podLabels, podAnnotations } = everything;
    expect(spec).toMatchObject({ nodeSelector, tolerations });
    expect(metadata).toMatchObject({ labels: podLabels, annotations: podAnnotations });
  }
});

// The parser of `render` throws for a member that is given twice.
test.runIf(hasHelm)(
  'A-272 annotations may be replaced, labels of selectors not, and a release may be a number',
  async () => {
    const given = {
      origin,
      podAnnotations: { 'prometheus.io/scrape': 'false' },
      podLabels: { 'app.kubernetes.io/component': 'other' },
    };
    const { all } = await render(given, '2026');
    const deployments = ofKind(all, 'Deployment');
    expect(deployments).toHaveLength(3);
    for (const { spec } of deployments) {
      const { labels, annotations } = spec.template.metadata;
      expect(annotations).toMatchObject({ 'prometheus.io/scrape': 'false', 'prometheus.io/port': '8081' });
      expect(labels).toMatchObject(spec.selector.matchLabels);
      expect(labels['app.kubernetes.io/instance']).toBe('2026');
    }
  },
);

test.runIf(hasHelm)('A-618 an update in the chart has at most two more pods of a role than before', async () => {
  for (const [drainMs, graceMs, seconds] of [
    [8000, 5000, 13],
    [8000, 5001, 14],
    [0, 0, 0],
  ]) {
    const { all } = await render({ origin, drainMs, graceMs });
    // A pod that drains has ended before the next one begins to.
    for (const { spec } of ofKind(all, 'Deployment'))
      expect([spec.strategy.rollingUpdate, spec.minReadySeconds]).toEqual([
        { maxSurge: 1, maxUnavailable: 0 },
        seconds,
      ]);
  }
});

test('A-618 the documented connections of PostgreSQL are enough for the chart and for an update of it', () => {
  const [, two, most] = /`max_connections` of (\d+)[^`]*?4 workers, (\d+)/.exec(guide) ?? [];
  const each = 12;
  const needed = (gateways: number, cores: number, workers: number): number =>
    each * (gateways + cores + workers) + 6 * cores + workers;
  const [commands, superusers] = [10, 3];
  const { gateway, ordering, worker } = values.roles;
  const largest = [gateway, ordering, worker].map(({ autoscaling }) => autoscaling.replicasMax as number);
  expect([gateway, ordering, worker].map(({ replicas }) => replicas)).toEqual([2, 2, 2]);
  expect(largest).toEqual([6, 4, 4]);
  const more = needed(2, 2, 2) + commands + superusers;
  expect(Number(two)).toBeGreaterThanOrEqual(needed(2, 2, 2) + more);
  expect(Number(most)).toBeGreaterThanOrEqual(needed(6, 4, 4) + more);
});

test('A-618 each documented command of Helm waits for as long as the migration may take', () => {
  const commands = guide.replaceAll('\\\n', ' ').match(/helm (?:install|upgrade) shop [^`\n]*/g) ?? [];
  expect(commands.length).toBeGreaterThan(2);
  for (const command of commands) {
    const minutes = Number(/--timeout (\d+)m/.exec(command)?.[1] ?? 5);
    expect([command, minutes * 60 > values.migrate.deadlineSeconds]).toEqual([command, true]);
  }
});

test.runIf(hasHelm)(
  'A-619 with a claim for its data the one gateway ends before its successor starts; more gateways are refused',
  async () => {
    const dataVolume = { persistentVolumeClaim: { claimName: 'shop-gateway' } };
    const one = { dataVolume, replicas: 1, autoscaling: { enabled: false } };
    const { all } = await render({
      origin,
      roles: { gateway: one },
    });
    const strategies = ofKind(all, 'Deployment').map(({ spec }) => spec.strategy.type);
    expect(strategies.toSorted()).toEqual(['Recreate', undefined, undefined]);
    const [gateway] = podsOf(all);
    expect(gateway.volumes).toContainEqual({ name: 'data', ...dataVolume });
    for (const wrong of [{ replicas: 2 }, { autoscaling: { enabled: true } }])
      await expect(render({ origin, roles: { gateway: { ...one, ...wrong } } })).rejects.toThrow(
        'a claim needs roles.gateway.replicas=1',
      );
  },
);

test.runIf(hasHelm)(
  'A-620 every pod can write to the data folder of the image, and listens where the values say',
  async () => {
    for (const [listenHost, more] of [
      ['0.0.0.0', {}],
      ['::', { listenHost: '::' }],
    ] as const) {
      const { all } = await render({ origin, ...more });
      for (const { containers, volumes } of podsOf(all).slice(0, 3)) {
        expect(containers[0].volumeMounts).toContainEqual({ name: 'data', mountPath: '/data' });
        expect((volumes as Json[]).find(({ name }) => name === 'data')).toHaveProperty('emptyDir');
        expect(envOf(containers[0])).toMatchObject({ ORDERPASS_HOST: listenHost, ORDERPASS_INTERNAL_HOST: listenHost });
      }
    }
  },
);

const podsOf = (all: readonly Json[]): Json[] =>
  [...ofKind(all, 'Deployment'), ...ofKind(all, 'Job')].map(({ spec }) => spec.template.spec);

test.runIf(hasHelm).each([
  [
    'Secret',
    'db.pem',
    { secret: 'authority', keys: ['db.pem'] },
    {
      secret: { secretName: 'authority', defaultMode: expect.any(Number), items: [{ key: 'db.pem', path: 'db.pem' }] },
    },
  ],
  [
    'ConfigMap',
    'ca.crt',
    { configMap: 'authority' },
    { configMap: { name: 'authority', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
  ],
])(
  'A-563 every pod and the migration have the files of authorities of a %s, which they trust beside those of Node when asked to',
  async (_what, key, authorities, volume) => {
    const name = 'authorities';
    const mounted = { name, mountPath: '/etc/orderpass/authorities', readOnly: true };
    const rendered = async (trusted: string): Promise<Json[]> =>
      podsOf((await render({ origin, authorities: { ...authorities, trusted } })).all);
    const pods = await rendered('');
    expect(pods).toHaveLength(4);
    for (const { containers, volumes } of pods) {
      expect(volumes).toContainEqual({ name, ...volume });
      expect(containers[0].volumeMounts).toContainEqual(mounted);
      expect(envOf(containers[0])).not.toHaveProperty('NODE_EXTRA_CA_CERTS');
    }
    for (const { containers } of await rendered(key))
      expect(envOf(containers[0])).toMatchObject({ NODE_EXTRA_CA_CERTS: `${mounted.mountPath}/${key}` });
    await expect(rendered('other.pem')).rejects.toThrow('authorities.trusted');
    for (const { volumes } of podsOf((await render({ origin })).all))
      expect((volumes as Json[]).filter((one) => one.name === name)).toEqual([]);
  },
);

test.runIf(hasHelm)(
  'A-272 the pods of every role have the previous master key during a rotation, and otherwise name no such key of the Secret',
  async () => {
    const name = 'master_key_previous';
    const more = { ORDERPASS_MASTER_KEY_PREVIOUS: name };
    for (const [secretsOf, isThere] of [
      [{ more }, true],
      [{}, false],
    ] as const) {
      const { all } = await render({ origin, secrets: secretsOf });
      const deployments = ofKind(all, 'Deployment');
      expect(deployments).toHaveLength(3);
      for (const { spec } of deployments) {
        const { containers, volumes } = spec.template.spec;
        const { items } = (volumes as Json[]).find((one) => one.name === 'secrets').secret;
        expect((items as Json[]).some(({ key }) => key === name)).toBe(isThere);
        const { ORDERPASS_MASTER_KEY_FILE: current, ORDERPASS_MASTER_KEY_PREVIOUS_FILE: previous } = envOf(
          containers[0],
        );
        const at = '/run/secrets/orderpass';
        expect([current, previous]).toEqual([`${at}/master_key`, isThere ? `${at}/${name}` : undefined]);
        // A mount of one file by `subPath` would keep its first content, so a changed key would need a restart.
        expect(containers[0].volumeMounts).toContainEqual({ name: 'secrets', mountPath: at, readOnly: true });
      }
      for (const { spec } of ofKind(all, 'Job')) expect(JSON.stringify(spec)).not.toContain('master_key');
    }
  },
);

test.runIf(hasHelm)('A-564 every role and the migration reach PgBouncer and the server behind it', async () => {
  const { all } = await render(everything);
  const policies = ofKind(all, 'NetworkPolicy');
  expect(policies).toHaveLength(4);
  for (const { spec } of policies)
    expect(spec.egress).toContainEqual({
      ports: [{ port: 6432 }, { port: 5432 }],
      to: everything.networkPolicy.databaseTo,
    });
  const job = policies.find(({ metadata }) => metadata.name === 'shop-migrate');
  expect(job.spec.egress).toContainEqual({ ports: [{ port: 5433 }] });
});

/** kubeconform reads no second file, so each schema gets a copy of the definitions that all of them name. */
const copySchemas = (release: string, target: string, kinds: readonly Json[]): void => {
  const source = join(schemas ?? '', `${release}-local-strict`);
  const read = (name: string): Json =>
    JSON.parse(readFileSync(join(source, name), 'utf8').replaceAll('/api/_definitions.json#', '#'));
  const { $defs } = read('_definitions.json');
  mkdirSync(target, { recursive: true });
  for (const { apiVersion, kind } of kinds) {
    const name = `${kind}-${apiVersion.replace('.k8s.io', '').replace('/', '-')}.json`.toLowerCase();
    const { $id: _, ...schemaOfKind } = read(name);
    writeFileSync(join(target, name), JSON.stringify({ ...schemaOfKind, $defs }));
  }
};

test.runIf(hasKubeconform && schemas !== undefined).each(given)(
  'A-272 with %s, Kubernetes 1.27 and the newest take every object',
  async (_what, of) => {
    const { text, all } = await render(of);
    const file = join(folder, 'rendered.yaml');
    writeFileSync(file, text);
    const releases = readdirSync(schemas ?? '').flatMap(
      (name) => /^(v1\.\d+\.\d+)-local-strict$/.exec(name)?.[1] ?? [],
    );
    const newest = releases.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1) ?? '';
    for (const release of ['v1.27.0', newest]) {
      const target = join(folder, release);
      copySchemas(release, target, all);
      const location = join(target, '{{ .ResourceKind }}{{ .KindSuffix }}.json');
      const { code, stdout } = await runProgram('kubeconform', [
        '-strict',
        '-summary',
        '-schema-location',
        location,
        file,
      ]);
      expect([release, code, stdout]).toEqual([
        release,
        0,
        expect.stringContaining(`Valid: ${all.length}, Invalid: 0, Errors: 0`),
      ]);
    }
  },
);
