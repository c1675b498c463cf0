/** Forms of the panel that are sent after another user changed what they show. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;
let cookie: string;
/** The session of another user. */
let otherCookie: string;

beforeAll(async () => {
  harness = await startPanelHarness();
  cookie = await harness.cookieOf(await harness.user('admin'));
  otherCookie = await harness.cookieOf(await harness.user('admin'));
});

afterAll(() => harness?.close());

type Fields = readonly (readonly [string, string])[];

const ask = async (path: string, fields?: Fields, session = cookie): Promise<string> => {
  const answer = await fetch(`${harness.url}/panel${path}`, {
    headers: { cookie: session, ...(fields === undefined ? undefined : { origin: harness.url }) },
    ...(fields === undefined
      ? undefined
      : { method: 'POST', body: new URLSearchParams(fields.map(([name, value]): [string, string] => [name, value])) }),
  });
  return (await answer.text()).replaceAll('<wbr>', '');
};

/** The hidden fields of the form that posts to `action`. */
const hiddenIn = (shown: string, action: string): Fields => {
  const form = [...shown.matchAll(/<form method="post" action="\/panel([^"]*)"[\s\S]*?<\/form>/g)].find(
    ([, to]) => to === action,
  );
  if (form === undefined) throw new Error(`no form posts to ${action}`);
  return [...form[0].matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
    ([, name = '', value = '']): [string, string] => [name, value],
  );
};

/** Sends a form, and the page that asks whether it is to be saved. */
const save = async (action: string, hidden: Fields, fields: Fields, session = cookie): Promise<string> => {
  const answer = await ask(action, [...hidden, ...fields], session);
  return answer.includes('data-confirm') ? ask(action, hiddenIn(answer, action), session) : answer;
};

type Case = {
  path: string;
  /** Default: the path. */
  action?: string;
  /** What another user saves while the form is open. */
  meanwhile: Fields;
  /** What the form is sent with then, which holds what was taken away meanwhile. */
  late: Fields;
  /** On the page, when the other user's change stays. */
  kept: RegExp;
  /** On the page, when the form was saved. */
  saved: RegExp;
};

const several = (name: string, ...values: string[]): Fields => values.map((value): [string, string] => [name, value]);

const checked = (value: string): RegExp => new RegExp(`value="${value}" checked`);

const cases = async (): Promise<Record<string, Case>> => {
  const [first = '', second = ''] = harness.restaurants;
  const owner = await harness.user('owner', harness.restaurants);
  const { restuid: third = '' } = await harness.command('restaurant', 'create', '--name', 'Pizzeria Tre');
  const { client_id = '' } = await harness.command(
    ...['client', 'create', '--name', 'Till', '--restaurant', first, '--scope', 'read:orders write:orders'],
  );
  const { key_id = '' } = await harness.command('key', 'create', '--restaurant', first, '--name', 'Till');
  const limits = `/restaurants/${first}/keys/${key_id}/limits`;
  await save(
    `${limits}/addresses`,
    hiddenIn(await ask(limits), `${limits}/addresses`),
    several('allow_ip', '10.0.0.0/8 192.0.2.0/24'),
  );
  const endpoints = `/restaurants/${first}/webhooks`;
  const endpoint = several('url', 'http://127.0.0.1:59999/hooks');
  await save(endpoints, hiddenIn(await ask(`${endpoints}/new`), endpoints), [
    ...endpoint,
    ...several('kinds', 'orders', 'customers'),
  ]);
  const uid = /\/webhooks\/(whe_\w+|[\w-]{8,})"/.exec(await ask(endpoints))?.[1] ?? '';
  return {
    'restaurants of an owner': {
      path: `/users/${owner.userId}/access`,
      meanwhile: [['role', 'owner'], ...several('restaurant', first)],
      late: [['role', 'owner'], ...several('restaurant', first, second, third)],
      kept: checked(first),
      saved: checked(second),
    },
    'scopes of a client': {
      path: `/clients/${client_id}/scopes`,
      meanwhile: [['which', 'some'], ...several('scope', 'read:orders')],
      late: [['which', 'some'], ...several('scope', 'read:orders', 'write:orders', 'read:menu')],
      kept: checked('read:orders'),
      saved: checked('write:orders'),
    },
    'networks of a key': {
      path: limits,
      action: `${limits}/addresses`,
      meanwhile: several('allow_ip', '10.0.0.0/8'),
      late: several('allow_ip', '10.0.0.0/8 192.0.2.0/24 203.0.113.0/24'),
      kept: />10\.0\.0\.0\/8</,
      saved: /203\.0\.113\.0/,
    },
    'limits of a key': {
      path: limits,
      meanwhile: several('day', '10000'),
      late: several('minute', '200'),
      kept: /name="day"[^>]* value="10000"/,
      saved: /name="minute"[^>]* value="200"/,
    },
    'roles that need a second factor': {
      path: '/users/second-factor',
      meanwhile: several('role', 'security'),
      late: several('role', 'owner'),
      kept: checked('security'),
      saved: checked('owner'),
    },
    'kinds of events of an endpoint': {
      path: `${endpoints}/${uid}/edit`,
      meanwhile: [...endpoint, ['v1a', 'true'], ...several('kinds', 'orders')],
      late: [...endpoint, ['v1a', 'true'], ['description', 'Till'], ...several('kinds', 'orders', 'customers')],
      kept: checked('orders'),
      saved: checked('customers'),
    },
  };
};

test('A-685 a form that was open while another user changed the same is not saved, and is shown again with what is stored', async () => {
  for (const [name, { path, action = path, meanwhile, late, kept, saved }] of Object.entries(await cases())) {
    const opened = hiddenIn(await ask(path), action);
    await save(action, opened, meanwhile);
    expect(await ask(path), name).toMatch(kept);
    expect.soft(await save(action, opened, late), name).toContain('Nothing was saved.');
    const shown = await ask(path);
    // A browser that goes back restores no choice beside the digest of now.
    expect.soft(shown, name).toMatch(new RegExp(`action="/panel${action}"[^>]* autocomplete="off"`));
    expect.soft(shown, name).toMatch(kept);
    expect.soft(shown, name).not.toMatch(saved);
    // The form that is shown now is saved.
    await save(action, hiddenIn(shown, action), late);
    expect(await ask(path), name).toMatch(saved);
  }
});

test('A-715 a form that lifts a quarantine, or rotates a key, ends no quarantine that was set after it was opened', async () => {
  const [restaurant = ''] = harness.restaurants;
  const { client_id = '' } = await harness.command('client', 'create', '--name', 'Till', '--restaurant', restaurant);
  const { key_id = '' } = await harness.command('key', 'create', '--restaurant', restaurant, '--name', 'Till');
  const client = `/clients/${client_id}`;
  const key = `/restaurants/${restaurant}/keys/${key_id}`;
  const quarantine = async (reason: string): Promise<void> => {
    await harness.command('client', 'quarantine', '--client-id', client_id, '--reason', reason);
    await harness.command('key', 'quarantine', '--key-id', key_id, '--reason', reason);
  };
  const unquarantined = hiddenIn(await ask(`${key}/rotate`), `${key}/rotate`);
  await quarantine('calls in a loop');
  const lifts = [
    { page: client, action: `${client}/reactivate` },
    { page: `${key}/reactivate`, action: `${key}/reactivate` },
  ];
  const opened = await Promise.all(lifts.map(async ({ page, action }) => hiddenIn(await ask(page), action)));
  const reason: Fields = [['reason', 'the loop ended']];
  for (const [index, { action }] of lifts.entries())
    expect(await ask(action, [...(opened[index] ?? []), ...reason])).toContain('Till may call again.');

  // A form that lifts what is lifted already records no second lift.
  expect.soft(await ask(`${client}/reactivate`, [...(opened[0] ?? []), ...reason])).toContain('Nothing was saved.');

  await quarantine('the secret is public');
  for (const [index, { page, action }] of lifts.entries()) {
    expect.soft(await ask(action, [...(opened[index] ?? []), ...reason])).toContain('Nothing was saved.');
    expect.soft(await ask(page)).toContain('the secret is public');
  }
  const rotation: Fields = [
    ['overlap', '24'],
    ['expires', ''],
  ];
  expect.soft(await ask(`${key}/rotate`, [...unquarantined, ...rotation])).toContain('Nothing was saved.');

  // The forms that are shown now show the later reason, and end it.
  for (const { page, action } of lifts) {
    await ask(action, [...hiddenIn(await ask(page), action), ...reason]);
    expect(await ask(page)).not.toContain('the secret is public');
  }
  const shown = await ask(`${key}/rotate`, [...hiddenIn(await ask(`${key}/rotate`), `${key}/rotate`), ...rotation]);
  expect(shown).toContain('id="secret-value"');
});

/** Runs `requests` together, after each of them has compared its form and waits to change what is stored. */
const together = async <T>(requests: readonly (() => Promise<T>)[]): Promise<T[]> => {
  const { pool } = harness.database;
  const holder = await pool.connect();
  try {
    await holder.query('begin');
    // Reads go on, locks of rows and changes wait.
    await holder.query(
      `lock table gateway.clients, gateway.api_keys, panel.users, panel.second_factor_roles, webhooks.endpoints in exclusive mode`,
    );
    const answers = Promise.all(requests.map((request) => request()));
    await until(async () => {
      const { rows } = await pool.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows.length >= requests.length;
    });
    await holder.query('commit');
    return await answers;
  } finally {
    holder.release(true);
  }
};

test('A-717 of two forms that are sent at the same moment, one is saved, and the other is shown again', async () => {
  const factor = '/users/second-factor';
  await save(factor, hiddenIn(await ask(factor), factor), []);
  const [restaurant = ''] = harness.restaurants;
  const { client_id = '' } = await harness.command('client', 'create', '--name', 'Till', '--restaurant', restaurant);
  const { key_id = '' } = await harness.command('key', 'create', '--restaurant', restaurant, '--name', 'Till');
  await harness.command('client', 'quarantine', '--client-id', client_id, '--reason', 'calls in a loop');
  await harness.command('key', 'quarantine', '--key-id', key_id, '--reason', 'calls in a loop');
  const lift = { meanwhile: several('reason', 'it ended'), late: several('reason', 'a new release') };
  const key = `/restaurants/${restaurant}/keys/${key_id}/reactivate`;
  const forms: Record<string, Pick<Case, 'path' | 'action' | 'meanwhile' | 'late'>> = {
    ...(await cases()),
    'quarantine of a client': { path: `/clients/${client_id}`, action: `/clients/${client_id}/reactivate`, ...lift },
    'quarantine of a key': { path: key, ...lift },
  };
  for (const [name, { path, action = path, meanwhile, late }] of Object.entries(forms)) {
    // A session keeps one message for its next page, so each form is sent by its own user.
    const sent = [
      { fields: meanwhile, session: cookie },
      { fields: late, session: otherCookie },
    ];
    const opened = await Promise.all(
      sent.map(async (form) => ({ ...form, hidden: hiddenIn(await ask(path, undefined, form.session), action) })),
    );
    const answers = await together(
      opened.map(
        ({ fields, session, hidden }) =>
          () =>
            save(action, hidden, fields, session),
      ),
    );
    expect.soft(answers.filter((answer) => answer.includes('Nothing was saved.')).length, name).toBe(1);
  }
});
