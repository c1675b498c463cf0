/** The menu of a restaurant and its imports in the panel. The part with a browser is skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { importsAnswer } from '../../support/orders/imports-answer.ts';
import { until } from '../../support/until.ts';
import { browserBinary, expectAccessible, takeScreenshots } from '../harness/panel-harness.ts';
import { type RestaurantHarness, startRestaurantHarness } from '../harness/restaurant-harness.ts';

if (browserBinary === undefined) process.stderr.write('panel menus: skipped, no Chromium is installed\n');

const isSkipped = browserBinary === undefined;

let harness: RestaurantHarness;
let headers: Record<string, string>;

beforeAll(async () => {
  if (isSkipped) return;
  harness = await startRestaurantHarness();
  const { client_id = '', client_secret = '' } = await harness.command(
    ...['client', 'create', '--name', 'Till at the bar', '--restaurant', harness.restuid],
  );
  headers = { 'x-client-id': client_id, 'x-client-secret': client_secret, 'content-type': 'application/json' };
  await importsAnswer(harness.url, headers);
});

afterAll(() => harness?.close());

type Sent = { import: { plan_id: string } };

const post = async (body: object): Promise<Sent> => {
  const sent = { method: 'POST', headers, body: JSON.stringify(body) };
  let answer: Response | undefined;
  // An import costs 20 of the 100 units of a second.
  await until(async () => {
    answer = await fetch(`${harness.url}/api/menu/import`, sent);
    return answer.status !== 429;
  });
  if (answer === undefined) throw new Error('nothing was sent');
  expect(answer.status, await answer.clone().text()).toBe(200);
  return (await answer.json()) as Sent;
};

const importMenu = async (products: readonly object[], more: object = {}): Promise<Sent> => {
  const categories = [...new Set(products.map((each) => (each as { category_ext_id: string }).category_ext_id))];
  const sent = {
    pos_uid: 'till',
    update_mode: 'replace',
    max_removal_percent: 100,
    categories: categories.map((name) => ({ ext_id: name, name })),
    products,
    ...more,
  };
  return post(sent);
};

const size = {
  ext_id: 'O',
  name: 'Size',
  type: 'single',
  min_selectable: 1,
  max_selectable: 1,
  option_values: [
    { ext_id: 'S', name: 'Small', price_operator: '+', price_operand: 0 },
    { ext_id: 'L', name: 'Large', price_operator: '+', price_operand: 2.5 },
  ],
};
const marinara = { ext_id: 'M', category_ext_id: 'Pizze', name: 'Marinara', price: 6.5, options: [size] };
const diavola = { ext_id: 'D', category_ext_id: 'Pizze', name: 'Diavola', price: 8 };

test.skipIf(isSkipped)(
  'the menu is shown with options and prices, each import with what it changed, and staff restore an earlier one',
  async () => {
    const { page, place, owner } = harness;
    await page.goto(`${place}/menu`);
    await page.getByText('The menu is empty.').waitFor();
    await expectAccessible(page);
    await importMenu([marinara, diavola]);
    await importMenu(
      [
        { ...marinara, name: 'Marinara <del sole>', price: 7 },
        { ...diavola, hidden: true },
      ],
      { dry_run: true },
    );
    const dearer = { ...size, option_values: [size.option_values[0], { ...size.option_values[1], price_operand: 3 }] };
    await importMenu([{ ...marinara, name: 'Marinara <del sole>', price: 7, options: [dearer] }]);
    await page.goto(`${place}/menu`);
    await page.getByText('1 product on sale').click();
    expect(await page.locator('main').innerText()).toMatch(/Marinara <del sole>[\s\S]*€7.00[\s\S]*Size[\s\S]*On sale/);
    await page.locator('td summary', { hasText: 'Size' }).click();
    expect(await page.locator('main').innerText()).toMatch(/choose 1[\s\S]*Small[\s\S]*Large \+€3.00/);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-menu');
    await page.getByRole('link', { name: 'All imports' }).click();
    const rows = page.locator('main tbody tr');
    expect(await rows.count()).toBe(3);
    expect(await rows.nth(0).innerText()).toMatch(
      /Done[\s\S]*Import of the whole menu[\s\S]*Till at the bar[\s\S]*Products ~1 −1/,
    );
    expect(await rows.nth(1).innerText()).toMatch(/Plan[\s\S]*Till at the bar[\s\S]*Products ~2/);
    await expectAccessible(page);
    await rows.nth(1).getByRole('link').click();
    await page.getByText('The menu has changed since, so it can no longer be applied.').waitFor();
    expect(await page.locator('main').innerText()).toMatch(
      /price: €6.50 →[\s\S]*€7.00[\s\S]*visibility: false[\s\S]*true/,
    );
    await page.goBack();
    await rows.nth(0).getByRole('link').click();
    const changed = await page.locator('main').innerText();
    expect(changed).toMatch(/Marinara →[\s\S]*Marinara <del sole>[\s\S]*Changed[\s\S]*€6.50 →[\s\S]*€7.00/);
    expect(changed).toMatch(/options\s+Size, Large: \+€2.50 →[\s\S]*\+€3.00/);
    expect(changed).toMatch(/Diavola\nProduct\tRemoved\t€8.00/);
    expect(await page.getByRole('link', { name: 'Restore this version…' }).count()).toBe(0);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-menu-import');
    await page.goto(`${place}/menu/imports`);
    await rows.nth(2).getByRole('link').click();
    await page.getByRole('link', { name: 'Restore this version…' }).click();
    await page.getByText('categories and products of “Till at the bar” only').waitFor();
    await expectAccessible(page);
    // An import in between: what the user confirms is not what the user saw.
    await importMenu([{ ...marinara, name: 'Marinara', price: 9 }]);
    await page.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('nothing was restored').waitFor();
    await page.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('The earlier menu is restored.').waitFor();
    expect(await page.locator('main').innerText()).toMatch(new RegExp(`Made by[\\s\\S]*${owner.email}`));
    const { products } = (await (await fetch(`${harness.url}/api/menu/products`, { headers })).json()) as {
      products: { name: string; price: number }[];
    };
    expect(products.map(({ name, price }) => ({ name, price }))).toEqual([
      { name: 'Marinara', price: 6.5 },
      { name: 'Diavola', price: 8 },
    ]);
    const { rows: audited } = await harness.database.pool.query(
      `select details::jsonb->>'operation' as operation, details::jsonb->>'version' as version
       from gateway.audit_events where actor = $1 and details like '%menu/%'`,
      [`panel:${owner.userId}`],
    );
    expect(audited).toEqual([{ operation: 'menu/revert', version: '4' }]);
    expect(harness.problems).toEqual([]);
  },
);

test.skipIf(isSkipped)(
  'a menu of 2,000 products has pages of at most 80 kB, and every product of a category is on one of them',
  async () => {
    const values = Array.from({ length: 30 }, (_, index) => ({
      ext_id: `V${index}`,
      name: `Extra number ${index}`,
      price_operand: 1,
    }));
    const extras = [
      { ...size, ext_id: 'X', type: 'multiple', min_selectable: 0, max_selectable: 9, option_values: values },
    ];
    await importMenu(
      Array.from({ length: 2000 }, (_, index) => ({
        ext_id: `P${index}`,
        category_ext_id: index < 160 ? 'All the pizzas' : `Category ${index % 40}`,
        name: `Product ${index} of a menu that is long in every respect`,
        ingredients: 'Tomato, mozzarella, basil, olive oil and everything else that the kitchen has',
        price: 5 + (index % 10),
        ...(index % 3 === 0 && index < 160 && { options: extras }),
      })),
    );
    const read = async (path: string): Promise<string> => {
      const answer = await harness.ask('GET', path);
      expect(answer.status, path).toBe(200);
      expect(Buffer.byteLength(answer.text), path).toBeLessThan(80_000);
      return answer.text;
    };
    const menu = await read('/menu');
    const categories = new Set(menu.match(/menu\/categories\/[\w-]+/g));
    expect(categories.size).toBe(41);
    const names = new Set<string>();
    for (let path: string | undefined = `/${[...categories][0]}`; path !== undefined; ) {
      const text: string = await read(path);
      for (const [, name = ''] of text.matchAll(/(Product \d+) of/g)) names.add(name);
      const next = /id="next-page"[^>]* href="[^"]*(\/menu\/[^"]*)"/.exec(text)?.[1];
      path = next?.replaceAll('&amp;', '&');
    }
    expect(names.size).toBe(160);
    const imports = await read('/menu/imports');
    const changes = await read(/\/menu\/imports\/[\w-]+/.exec(imports)?.[0] ?? '');
    expect(changes).toMatch(/Products<\/th>[\s\S]*2000/);
    expect(changes).toContain('id="next-page"');
    const elsewhere = await fetch(`${harness.url}/panel/restaurants/${harness.others}/menu`, {
      headers: { cookie: await harness.cookieOf(harness.owner) },
    });
    expect(elsewhere.status).toBe(404);
  },
);

test.skipIf(isSkipped)(
  'A-550 the page of a plan says whether the plan can be applied, has expired, or was overtaken by a change of the menu',
  async () => {
    const planned = [{ ...marinara, price: 12 }];
    await importMenu(planned, { dry_run: true });
    const list = (await harness.ask('GET', '/menu/imports')).text;
    const plan = /\/menu\/imports\/[\w-]+/.exec(list)?.[0] ?? '';
    const applicable = (await harness.ask('GET', plan)).text;
    expect(applicable).toContain('The program that made it can apply it.');
    expect(applicable).toContain('Can be applied until');
    const { pool } = harness.database;
    const expires = (sign: '-' | '+') =>
      pool.query(
        `update ordering.menu_imports set plan_expires = plan_expires ${sign} interval '2 days' where uid = $1`,
        [plan.slice('/menu/imports/'.length)],
      );
    expect((await expires('-')).rowCount).toBe(1);
    const expired = (await harness.ask('GET', plan)).text;
    expect(expired).toContain('A plan: it changed nothing, and it has expired.');
    expect(expired).toContain('Plan, expired');
    await expires('+');
    await importMenu([{ ...marinara, price: 13 }]);
    const overtaken = (await harness.ask('GET', plan)).text;
    expect(overtaken).toContain('The menu has changed since, so it can no longer be applied.');
    for (const text of [expired, overtaken]) {
      expect(text).not.toContain('can apply it');
      expect(text).not.toContain('Can be applied until');
    }
  },
);

test.skipIf(isSkipped)('A-527 an option without an upper bound is shown so, in both languages', async () => {
  const toppings = { ...size, ext_id: 'T', name: 'Toppings', type: 'multiple', min_selectable: 0, max_selectable: 0 };
  const options = [toppings, { ...toppings, ext_id: 'D', name: 'Dips', min_selectable: 2 }];
  await importMenu([{ ...marinara, options }]);
  const english = (await harness.ask('GET', '/menu')).text;
  expect(english).toMatch(/Toppings<\/strong> <span class="hint">choose any number<[\s\S]*>choose at least 2</);
  const italian = await fetch(`${harness.place}/menu`, {
    headers: { cookie: await harness.cookieOf(harness.owner), 'accept-language': 'it' },
  });
  expect(await italian.text()).toMatch(/>scelte: a piacere<[\s\S]*>scelte: almeno 2</);
});

test.skipIf(isSkipped)(
  'A-528 a product is shown as on sale only where its category is, and a hidden category counts none',
  async () => {
    const add = (name: string) =>
      harness.command('location', 'create', '--restaurant', harness.restuid, '--name', name);
    const at = async (name: string): Promise<string[]> => [(await add(name)).uid ?? ''];
    const [hill, lake] = [await at('Hill'), await at('Lake')];
    const shown = async (category: object, product: object = {}): Promise<string> => {
      const categories = [{ ext_id: 'Pizze', name: 'Pizze', ...category }];
      await importMenu([{ ...marinara, ...product }], { categories });
      const text = (await harness.ask('GET', '/menu')).text;
      const path = /\/menu\/categories\/[\w-]+/.exec(text)?.[0] ?? '';
      const both = [text, (await harness.ask('GET', path)).text];
      for (const each of both) expect(each).toContain('Marinara');
      return both.join();
    };
    const hidden = await shown({ hidden: true });
    expect(hidden.match(/Category hidden/g)?.length).toBe(2);
    expect(hidden).not.toMatch(/on sale/i);
    const limited = await shown({ subrestaurant_uids: hill });
    // Of the category and of the product, on both pages.
    expect(limited.match(/Only at Hill/g)?.length).toBe(4);
    expect(limited).not.toContain('On sale');
    expect(await shown({ subrestaurant_uids: [...hill, ...lake] }, { subrestaurant_uids: lake })).toMatch(
      /Only at Lake/,
    );
    expect(await shown({ subrestaurant_uids: hill }, { subrestaurant_uids: lake })).toContain('At no location');
    expect(await shown({})).toMatch(/1 product on sale[\s\S]*On sale/);
  },
);

test.skipIf(isSkipped)(
  'A-529 the latest change is one that changed the menu, with its time, and a plan of elements that moved is not offered',
  async () => {
    const newest = async (): Promise<string> =>
      /\/menu\/imports\/([\w-]+)/.exec((await harness.ask('GET', '/menu/imports')).text)?.[1] ?? '';
    const card = /Latest change:<[\s\S]*?imports\/([\w-]+)"[\s\S]*?datetime="([^"]+)"/;
    const latest = async () => card.exec((await harness.ask('GET', '/menu')).text) ?? [];
    await importMenu([{ ...marinara, price: 20 }]);
    const first = await newest();
    const { import: plan } = await importMenu([{ ...marinara, price: 21 }], { dry_run: true });
    const planned = await newest();
    expect(planned).not.toBe(first);
    expect((await latest())[1]).toBe(first);
    await harness.database.pool.query(
      `update ordering.menu_imports set created = created - interval '2 hours' where uid = $1`,
      [planned],
    );
    await post({ plan_id: plan.plan_id });
    const isRecent = (at = ''): boolean => Date.now() - Date.parse(at) < 3_600_000;
    const rows = (await harness.ask('GET', '/menu/imports')).text;
    const { text: own } = await harness.ask('GET', `/menu/imports/${planned}`);
    const applied = new RegExp(
      `imports/${planned}"><time[^>]+>[^<]+</time></a><br><span class="hint">Applied <time datetime="([^"]+)"`,
    );
    for (const shown of [applied.exec(rows)?.[1], /<dt>Applied<\/dt><dd><time datetime="([^"]+)"/.exec(own)?.[1]])
      expect(isRecent(shown)).toBe(true);
    // An import that began later stays before it.
    expect(rows.indexOf(first)).toBeLessThan(rows.indexOf(planned));
    expect(rows.match(/>Applied </g)).toHaveLength(1);
    const [, uid, at] = await latest();
    expect([uid, isRecent(at)]).toEqual([planned, true]);
    const sent = [{ ...marinara, price: 22 }];
    await importMenu(sent);
    const question = (await harness.ask('GET', `/menu/imports/${planned}/revert`)).text;
    expect(isRecent(/as it was after the import of <time datetime="([^"]+)"/.exec(question)?.[1])).toBe(true);
    await importMenu([{ ...marinara, price: 23 }], { dry_run: true });
    const open = `/menu/imports/${await newest()}`;
    expect((await harness.ask('GET', open)).text).toContain('can apply it');
    await importMenu(sent, { pos_uid: 'till-2' });
    const outdated = (await harness.ask('GET', open)).text;
    expect(outdated).toContain('moved to another point of sale since, so it can no longer be applied');
    expect(outdated).not.toMatch(/can apply it|Can be applied until/);
  },
);

test.skipIf(isSkipped)('A-519 every product of a category with 20,000 option values is on a page', async () => {
  const values = Array.from({ length: 200 }, (_, index) => ({ ext_id: `V${index}`, name: `Value ${index}` }));
  const options = Array.from({ length: 100 }, (_, index) => ({
    ...{ ext_id: `O${index}`, name: `Option ${index}`, type: 'multiple', option_values: values },
  }));
  const products = [1, 2, 3].map((n) => ({ ext_id: `L${n}`, category_ext_id: 'Large', name: `Large ${n}`, price: 5 }));
  await importMenu(products, { categories: [{ ext_id: 'Large', name: 'Large', options }] });
  const pages: string[][] = [];
  const { rows } = await harness.database.pool.query(`select uid from ordering.categories where name = 'Large'`);
  const category = `menu/categories/${rows[0].uid}`;
  for (let path: string | undefined = `/${category}`; path !== undefined; ) {
    const { status, text }: { status: number; text: string } = await harness.ask('GET', path);
    expect(status).toBe(200);
    pages.push([...text.matchAll(/Large \d/g)].map(([name]) => name));
    path = /id="next-page"[^>]* href="[^"]*(\/menu\/[^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
  }
  expect(pages).toEqual([['Large 1'], ['Large 2'], ['Large 3']]);
});
