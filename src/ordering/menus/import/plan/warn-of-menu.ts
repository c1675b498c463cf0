/** Warnings about valid but probably unintended menus: free products, empty categories, duplicate names. Pure. */
import type { Planning } from './plan-options.ts';
import type { Drafts, Removals } from './plan-removals.ts';
import type { CurrentMenu } from './stored-menu.ts';

export const warnOfMenu = async (
  current: CurrentMenu,
  { categories, products, removals }: Drafts & { removals: Removals },
  { findings, pace }: Planning,
): Promise<void> => {
  const planned = new Set([...products.map(({ after }) => after.uid), ...removals.products.map(({ uid }) => uid)]);
  const filled = new Set(current.sharedCategories);
  for (const { uid, removed, category_uid } of current.products)
    if (!removed && !planned.has(uid)) filled.add(category_uid);
  const names = new Set<string>();
  for (const { sent, after } of products) {
    filled.add(after.category_uid);
    if (after.price === 0 && Object.keys(after.prices_table).length === 0)
      findings.warn(sent.pointer, sent.extId, 'PRICE_ZERO', `${after.name} has price 0`);
    warnOfName(names, `${after.category_uid} `, { ...sent, name: after.name }, findings);
    const pause = pace();
    if (pause !== undefined) await pause;
  }
  for (const { sent, after } of categories) {
    if (!filled.has(after.uid))
      findings.warn(sent.pointer, sent.extId, 'EMPTY_CATEGORY', `${after.name} has no products`);
    warnOfName(names, '', { ...sent, name: after.name }, findings);
  }
};

const warnOfName = (
  names: Set<string>,
  within: string,
  element: { pointer: string; extId: string; name: string | undefined },
  findings: Planning['findings'],
): void => {
  if (element.name === undefined) return;
  const key = `${within}\n${element.name.toLowerCase()}`;
  if (names.has(key))
    findings.warn(element.pointer, element.extId, 'DUPLICATE_NAME', `another one is called ${element.name}`);
  names.add(key);
};
