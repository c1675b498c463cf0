/** An external provider that cannot be reached closes no other door. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadSettings, SettingsError } from '#src/app/settings/config.ts';
import { freePort } from '../../support/free-port.ts';
import { type PanelInProcess, startPanel } from '../harness/panel-in-process.ts';

let panel: PanelInProcess;

beforeAll(async () => {
  panel = await startPanel({
    oidc_issuer: `http://127.0.0.1:${await freePort()}`,
    ...{ oidc_client_id: 'panel', oidc_client_secret: 'a secret of the panel' },
  });
});

afterAll(() => panel?.close());

test('while the provider is away the sign-in page shows that, and passwords work', async () => {
  const visitor = panel.visitor();
  expect((await visitor.get('/panel/sign-in/provider')).text).toContain('cannot be reached right now');
  const made = await panel.users.create('cli:test', { email: 'ada@example.com', role: 'support' });
  const token = new URL(made.link).searchParams.get('token') ?? '';
  const password = 'seven unlikely words';
  await panel.visitor().post('/panel/link', { token, password, again: password }, '');
  const answer = await visitor.post('/panel/sign-in', { email: 'ada@example.com', password }, '');
  expect(answer.status).toBe(303);
});

test('settings of a provider that lack something, or lead over plain http, are refused at the start', () => {
  const load = (env: Record<string, string>) => () => loadSettings({ env });
  const whole = {
    ORDERPASS_PANEL_OIDC_ISSUER: 'https://id.example',
    ORDERPASS_PANEL_OIDC_CLIENT_ID: 'panel',
    ORDERPASS_PANEL_OIDC_CLIENT_SECRET: 'secret',
  };
  expect(load(whole)().panel.oidc_issuer).toBe('https://id.example');
  for (const name of Object.keys(whole))
    expect(load(Object.fromEntries(Object.entries(whole).filter(([key]) => key !== name)))).toThrow(SettingsError);
  expect(load({ ...whole, ORDERPASS_PANEL_OIDC_ISSUER: 'http://id.example' })).toThrow(SettingsError);
});
