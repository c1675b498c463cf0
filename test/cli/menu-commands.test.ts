import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { importsAnswer } from '../support/orders/imports-answer.ts';
import { type RunningProgram, runCommand, runJson, startProgram } from '../support/program.ts';

let database: TestDatabase;
let env: Record<string, string>;
let program: RunningProgram;
let restuid: string;
let key: string;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-menu-'));
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    NODE_ENV: 'production',
  };
  restuid = String((await runJson(['restaurant', 'create', '--name', 'Da Ada'], env)).restuid);
  key = String((await runJson(['key', 'create', '--restaurant', restuid], env)).api_key);
  program = await startProgram(env);
});

afterAll(async () => {
  await program?.stop();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const importing = (path: string, ...more: string[]) => ['menu', 'import', path, '--restaurant', restuid, ...more];

const call = async (method: string, path: string): Promise<Record<string, unknown>> => {
  const response = await fetch(`${program.url}/api${path}`, { method, headers: { 'x-api-key': key } });
  return (await response.json()) as Record<string, unknown>;
};

test('generator create makes a generator whose coupons a caller of the gateway generates and applies', async () => {
  const terms = ['--discount-perc', '12.5', '--quantity', '2', '--order-min', '8', '--valid-weekdays', '0,1,2,3,4,5,6'];
  const args = ['generator', 'create', '--restaurant', restuid, '--gencode', 'SPRING', ...terms];
  expect(await runJson(args, env)).toEqual({
    restuid,
    gencode: 'SPRING',
    discount_perc: 12.5,
    quantity: 2,
    order_min: 8,
    valid_from: null,
    valid_to: null,
    valid_days: null,
    valid_weekdays: [0, 1, 2, 3, 4, 5, 6],
    points: 0,
  });
  const { coupon } = (await call('POST', '/coupon/generate?gencode=SPRING')) as { coupon: { code: string } };
  const applied = await call('POST', `/coupon/apply?code=${coupon.code}&total=40`);
  expect(applied).toMatchObject({ success: true, coupon: { quantity: 1 }, order: { discount: 5, total: 35 } });
  const again = await runCommand(args, env);
  expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(/already/)]);
  const wrong = await runCommand([...args.slice(0, 6), '--discount-perc', 'ten'], env);
  expect(wrong.code).toBe(2);
});

test('menu import reads CSV with products, options and values, shows a bar, and repeats without effect', async () => {
  const csv = [
    'ext_id;name;price;category_ext_id;category_name;description;allergens;price:1;option_ext_id;option_name;option_type;value_ext_id;value_name;value_operator;value_price',
    'P1;Margherita;7.50;pizza;Pizza;"With ""real"" basil;\nand oil";milk|gluten;8.25;size;Size;single;s;Small;;',
    'P1;;;;;;;;size;;;l;Large;=;11',
    'P1;;;;;;;;extras;Extras;multiple;ham;Ham;+;1.20',
    '',
    'P2;Cola;3;drinks',
  ].join('\r\n');
  const path = file('menu.csv', `\uFEFF${csv}`);
  const shown = await runCommand(importing(path, '--progress'), env);
  expect([shown.code, shown.stderr]).toEqual([0, expect.stringMatching(/\r\[#+ *\] +\d+ %/)]);
  expect(shown.stdout).toContain('applied');
  const { products } = (await call('GET', '/menu/products')) as { products: Record<string, unknown>[] };
  expect(products.map(({ name }) => name).sort()).toEqual(['Cola', 'Margherita']);
  expect(products.find(({ name }) => name === 'Margherita')).toMatchObject({
    ext_id: 'P1',
    price: 7.5,
    prices_table: { '1': 8.25 },
    ingredients: 'With "real" basil;\nand oil',
    allergens: ['milk', 'gluten'],
    options: [
      {
        name: 'Size',
        type: 'single',
        option_values: [
          { name: 'Small', price_operator: '+', price_operand: 0 },
          { name: 'Large', price_operator: '=', price_operand: 11 },
        ],
      },
      { name: 'Extras', option_values: [{ name: 'Ham', price_operand: 1.2 }] },
    ],
  });
  expect(await runJson(importing(path), env)).toMatchObject({ state: 'applied', version: 1, base_version: 1 });
  await importsAnswer(program.url, { 'x-api-key': key });
  const { imports } = (await call('GET', '/menu/imports')) as { imports: Record<string, unknown>[] };
  expect(imports.map(({ state, version, client_id }) => [state, version, client_id])).toEqual([
    ['applied', 1, 'panel'],
    ['applied', 1, 'panel'],
  ]);
});

test('menu import of a CSV file without category_name leaves the names of present categories, and names new ones', async () => {
  const menu = 'ext_id,name,price,category_ext_id,category_name\nK1,Ribollita,8.50,K,Zuppe\n';
  await runJson(importing(file('named.csv', menu)), env);
  const prices = 'ext_id,name,price,category_ext_id\nK1,Ribollita,9.00,K\nK2,Cantucci,4.00,sweets\n';
  expect(await runJson(importing(file('prices.csv', prices)), env)).toMatchObject({
    counts: { categories: { created: 1, updated: 0, unchanged: 1 }, products: { created: 1, updated: 1 } },
  });
  const { categories } = (await call('GET', '/menu/categories')) as { categories: Record<string, unknown>[] };
  const nameOf = (id: string): unknown => categories.find(({ ext_id }) => ext_id === id)?.name;
  expect([nameOf('K'), nameOf('sweets')]).toEqual(['Zuppe', 'sweets']);
});

test('menu import reads JSON, shows what a dry run would do, and names every fault with its place', async () => {
  const menu = {
    categories: [{ ext_id: 'C1', name: 'Soups' }],
    products: [{ ext_id: 'S1', name: 'Minestrone', price: 6 }],
  };
  const bad = await runCommand([...importing(file('bad.json', JSON.stringify(menu))), '--json'], env);
  expect([bad.code, JSON.parse(bad.stdout)]).toMatchObject([
    1,
    { state: 'failed', version: null, errors: [{ pointer: '/products/0/category_ext_id', code: 'REQUIRED' }] },
  ]);
  const lines = await runCommand(
    importing(file('bad.csv', 'ext_id,name,price,category_ext_id\nS1,A,6,C1\nS2,B,much,C1\n')),
    env,
  );
  expect([lines.code, lines.stderr]).toEqual([1, expect.stringMatching(/line 3, \/products\/1\/price TYPE/)]);
  const right = { ...menu, products: [{ ...menu.products[0], category_ext_id: 'C1' }] };
  const path = file('good.json', JSON.stringify(right));
  const dry = await runJson(importing(path, '--dry-run'), env);
  expect(dry).toMatchObject({ state: 'planned', version: null, counts: { products: { created: 1 } } });
  const { total_count: before } = await call('GET', '/menu/products?q=Minestrone');
  expect(before).toBe(0);
  await runJson(importing(path), env);
  expect((await call('GET', '/menu/products?q=Minestrone')).total_count).toBe(1);
  const emptied = importing(file('empty.json', '{"categories":[],"products":[]}'), '--mode', 'replace');
  expect((await runCommand(emptied, env)).stderr).toMatch(/REMOVAL_GUARD/);
  for (const [name, text] of [
    ['broken.json', '{"categories"'],
    ['columns.csv', 'ext_id,name\nS1,A\n'],
    ['unknown.csv', 'ext_id,name,price,category_ext_id,colour\nS1,A,1,C1,red\n'],
    ['quote.csv', 'ext_id,name,price,category_ext_id\nS1,"A,1,C1\n'],
  ] as const)
    expect((await runCommand(importing(file(name, text)), env)).code).toBe(2);
  const help = await runCommand(['menu', 'import', '--help'], env);
  expect([help.code, help.stdout]).toEqual([0, expect.stringMatching(/category_ext_id[\s\S]*value_price/)]);
});

test('F-01 menu import keeps every digit of a CSV or JSON file, or refuses the file', async () => {
  const long = '1300000000062769153';
  const head = 'ext_id,name,price,category_ext_id';
  const whole = file('long.csv', `${head}\n${long},${long},7.50,9007199254740993\n`);
  expect((await runJson(importing(whole, '--pos-uid', 'long'), env)).state).toBe('applied');
  const listed = (await call('GET', `/menu/products?q=${long}`)).products;
  expect(listed).toMatchObject([{ ext_id: long, name: long, price: 7.5 }]);
  const menu = (product: string): string =>
    `{"categories":[{"ext_id":"L","name":"L"}],"products":[{"category_ext_id":"L","name":"N",${product}}]}`;
  for (const [name, text, message] of [
    ['more.csv', `${head}\nL1,L,12.499999999999999999,L\n`, '/products/0/price FORMAT'],
    ['twice.csv', `${head},name\nL1,L,7,L,M\n`, 'the first row names name twice'],
    ['quote.csv', `${head}\n"L1"x,L,7,L\n`, 'line 2: text follows the closing quote of a field'],
    ['id.json', menu(`"ext_id":${long},"price":7`), '/products/0/ext_id TYPE'],
    ['price.json', menu('"ext_id":"L1","price":12.499999999999999999'), '/products/0/price FORMAT'],
    ['twice.json', menu('"ext_id":"L1","price":7,"price":8'), 'products/0/price is given twice'],
  ] as const) {
    const refused = await runCommand(importing(file(name, text), '--pos-uid', 'long'), env);
    expect([name, refused.code === 0, refused.stderr]).toEqual([name, false, expect.stringContaining(message)]);
  }
  const latin = join(folder, 'latin.csv');
  writeFileSync(latin, Buffer.from(`${head}\nL1,Caff\xe8,7,L\n`, 'latin1'));
  const refused = await runCommand(importing(latin), env);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('is not valid UTF-8')]);
  expect((await call('GET', '/menu/products?q=Caff')).products).toEqual([]);
});

test('F-01 an option is not rounded either', async () => {
  const args = ['restaurant', 'set', '--restaurant', restuid, '--point-value', '0.10000000000000000001'];
  const refused = await runCommand(args, env);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('would be rounded')]);
  const path = file('percent.csv', 'ext_id,name,price,category_ext_id\nR1,R,7,C\n');
  const removal = await runCommand(importing(path, '--max-removal-percent', '99.99999999999999999'), env);
  expect([removal.code, removal.stderr]).toEqual([2, expect.stringContaining('would be rounded')]);
});

test('menu import refuses CSV rows that it would have to leave out, with the line and what to change', async () => {
  const head =
    'ext_id,name,price,category_ext_id,category_name,option_ext_id,option_name,value_ext_id,value_name,price:1,option_type';
  const fine = 'R1,A,6,C1,Soups,size,Size,s,Small,7,single';
  for (const [rows, message] of [
    ['R1,A,6,C1,,,,l,Large,', 'line 2: value_ext_id is set without option_ext_id'],
    ['R1,A,6,C1,,,Size,,,', 'line 2: option_name is set without option_ext_id'],
    ['R1,A,6,C1,,size,,,Large,', 'line 2: value_name is set without value_ext_id'],
    ['R1,A,6,,Soups,,,,,', 'line 2: category_name is set without category_ext_id'],
    [`${fine}\nR1,,8,,,size,,l,Large,`, 'line 3: price differs from line 2'],
    [`${fine}\nR1,,,,,size,,l,Large,8`, 'line 3: price:1 differs from line 2'],
    [`${fine}\nR1,,,,,size,Portion,l,Large,`, 'line 3: option_name differs from line 2'],
    [`${fine}\nR2,B,6,C1,Starters,,,,,`, 'line 3: category_name differs from line 2'],
  ] as const) {
    const refused = await runCommand(importing(file('rows.csv', `${head}\n${rows}\n`)), env);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(message)]);
  }
  const nameless = file('nameless.csv', 'ext_id,name,price,category_ext_id,\nR1,A,6,C1,\nR2,B,6,C1,basil\n');
  const refused = await runCommand(importing(nameless), env);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('line 3: a column without a name')]);
  expect((await call('GET', '/menu/products?q=Small')).total_count).toBe(0);
  const repeated = file('repeated.csv', `${head}\n${fine}\nR1,A,6,C1,Soups,size,Size,l,Large,7,single\n`);
  expect((await runJson(importing(repeated, '--pos-uid', 'rows'), env)).state).toBe('applied');
});

test('menu import refuses a JSON file that says how it is imported, and a replace without both arrays', async () => {
  const menu = { categories: [{ ext_id: 'J1', name: 'Pasta' }], products: [] };
  for (const [more, message] of [
    [{ dry_run: true }, 'not dry_run: give it as the option --dry-run'],
    [{ update_mode: 'replace' }, 'not update_mode: give it as the option --mode'],
    [{ pos_uid: 'till-1' }, 'not pos_uid: give it as the option --pos-uid'],
    [{ product: [] }, 'not product: remove it'],
  ] as const) {
    const refused = await runCommand(importing(file('body.json', JSON.stringify({ ...menu, ...more }))), env);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(message)]);
  }
  const half = file('half.json', JSON.stringify({ categories: menu.categories }));
  const replace = ['--mode', 'replace', '--pos-uid', 'half', '--confirm-removal'];
  const refused = await runCommand(importing(half, ...replace), env);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('products is missing')]);
  expect((await runJson(importing(half, '--pos-uid', 'half'), env)).state).toBe('applied');
});

test('A-646 a JSON file with thousands of levels is refused with its name and the reason', async () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  for (const text of [`{"categories":${deep}}`, `{"categories":[1e400,${deep}]}`]) {
    const refused = await runCommand(importing(file('deep.json', text)), env);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('more than 1000 levels of nesting')]);
    expect(refused.stderr).toContain('deep.json');
  }
});
