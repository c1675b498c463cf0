import { test } from 'vitest';
import { startOrdering } from '../support/ordering.ts';
import { runImport } from '#src/ordering/menus/import/run-import.ts';
import { importAnswer, importView } from '#src/ordering/menus/import/import-view.ts';
import { importParams } from '#src/ordering/menus/import/import-params.ts';
import { findRestaurant } from '#src/ordering/restaurants/restaurant-store.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { parseJsonObject } from '#src/platform/http/read-body.ts';
import { z } from 'zod';
test('x', async () => {
  const core = await startOrdering();
  const options = [0, 1].map((o) => ({ ext_id: `o${o}`, name: `Option ${o}`, type: 'multiple',
    option_values: Array.from({ length: 5 }, (_, v) => ({ ext_id: `v${v}`, name: `Value ${v}`, price_operand: v, position: v })) }));
  const body = { pos_uid: 'a', update_mode: 'replace', categories: Array.from({ length: 1000 }, (_, i) => ({ ext_id: `C${i}`, name: `C${i}`, options: [] })),
    products: Array.from({ length: 5000 }, (_, i) => ({ ext_id: `P${i}`, name: `P${i}`, price: 7.5, category_ext_id: `C${i % 1000}`, description: `Dish ${i}`, allergens: ['milk'], options: structuredClone(options) })) };
  const raw = Buffer.from(JSON.stringify(body));
  let gaps: number[] = []; let last = performance.now();
  const timer = setInterval(() => { const n = performance.now(); if (n - last > 25) gaps.push(Math.round(n - last)); last = n; }, 1);
  const mark = (label: string) => { console.log(label, Math.round(performance.now() - t), 'ms gaps', gaps.join(' ')); gaps = []; last = performance.now(); t = performance.now(); };
  let t = performance.now();
  const restaurant = await findRestaurant(core.db, core.restaurant.restuid);
  mark('start');
  const parsed = parseJsonObject(raw); mark('parse ' + raw.length);
  const p = importParams.parse({ ...parsed, ...(body.products.splice(4999) as object ? {} : {}) }); mark('params');
  for (let i = 0; i < 3; i++) {
    const out = await inTransaction(core.db, (tx) => runImport(tx, { restuid: core.restaurant.restuid, owner: 'x', posUid: 'a', mode: 'replace', currency: 'EUR', categories: p.categories!, products: i === 1 ? p.products!.map((x) => ({ ...(x as object), name: 'changed' })) : p.products!, maxRemovalPercent: 100, confirmRemoval: true, now: new Date() }));
    await new Promise((r) => setTimeout(r, 5));
    mark('import ' + out.version + ' items ' + out.items.length);
    const view = importView(out, { posUid: 'a', mode: 'replace', clientId: 'x', now: new Date() }, restaurant!);
    const ok = z.object({ import: importAnswer }).safeParse({ import: view });
    const text = JSON.stringify(ok.data); mark('render ' + text.length);
  }
  clearInterval(timer);
  await core.close();
}, 60000);
