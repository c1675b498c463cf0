import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadSettings, settingFields } from '#src/app/settings/config.ts';

const root = resolve(import.meta.dirname, '../..');

type Service = {
  image?: string;
  build?: { context: string; dockerfile: string };
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: unknown };
  volumes?: string[];
};
type Compose = { services: Record<string, Service>; volumes: Record<string, unknown> };

const compose = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true }) as Compose;

/** `${NAME:?reason}` filled in as a person would in .env. */
const filled = (value: string): string =>
  value.replace(/\$\{(\w+):\?[^}]*\}/g, (_whole, name: string) => {
    if (name === 'ORDERPASS_MASTER_KEY') return Buffer.alloc(32, 1).toString('base64');
    return name === 'ORDERPASS_ORIGIN' ? 'https://api.example' : 'secret';
  });

const environmentOf = (service: Service): Record<string, string> =>
  Object.fromEntries(Object.entries(service.environment ?? {}).map(([name, value]) => [name, filled(value)]));

test('docker-compose runs PostgreSQL, Redis, two gateways, one core and one worker', () => {
  const roles = Object.values(compose.services).map((service) => service.environment?.ORDERPASS_ROLE);
  expect(roles.filter((role) => role === 'gateway')).toHaveLength(2);
  expect(roles.filter((role) => role === 'ordering')).toHaveLength(1);
  expect(roles.filter((role) => role === 'worker')).toHaveLength(1);
  expect(compose.services.postgres?.image).toMatch(/^postgres:/);
  expect(compose.services.redis?.image).toMatch(/^redis:/);
});

test('every service of docker-compose starts with settings that the program accepts', () => {
  for (const service of Object.values(compose.services).filter(({ build }) => build !== undefined)) {
    const settings = loadSettings({ env: { NODE_ENV: 'production', ...environmentOf(service) } });
    expect(settings.database_url).toBe('postgresql://orderpass:secret@postgres:5432/orderpass');
    if (settings.role === 'gateway') expect(settings.gateway.upstreams).toEqual({ ordering: 'http://ordering:8081' });
  }
});

test('docker-compose sets only what the program reads', () => {
  const known = new Set(settingFields().map((field) => field.env));
  for (const service of Object.values(compose.services).filter(({ build }) => build !== undefined)) {
    expect(Object.keys(service.environment ?? {}).filter((name) => !known.has(name))).toEqual([]);
  }
});

test('docker-compose names files, volumes and services that exist, and no secret has a default', () => {
  const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
  for (const service of Object.values(compose.services)) {
    if (service.build !== undefined) expect(existsSync(join(root, service.build.dockerfile))).toBe(true);
    for (const name of Object.keys(service.depends_on ?? {})) {
      expect(compose.services[name]?.healthcheck, `${name} is waited for, so it needs a health check`).toBeDefined();
    }
    for (const volume of service.volumes ?? []) expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
  }
  expect([...text.matchAll(/\$\{(\w+)(:-)?/g)].filter((match) => match[2] !== undefined)).toEqual([]);
});

test('the image copies what exists and what the program needs', () => {
  const dockerfile = readFileSync(join(root, 'config/Dockerfile'), 'utf8');
  const sources = [...dockerfile.matchAll(/^COPY (.+) \S+$/gm)].flatMap((match) => (match[1] ?? '').split(' '));
  for (const source of sources) expect(existsSync(join(root, source)), source).toBe(true);
  expect(sources).toEqual(expect.arrayContaining(['src', 'config', 'package.json', 'package-lock.json']));
});
