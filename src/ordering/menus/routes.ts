/** Operations on the menu (interface 11.3). */
import { z } from 'zod';
import { Fault } from '#src/contract/fault.ts';
import { type Operation, operation } from '#src/platform/http/operation.ts';
import { type Cursors, pageAnswer, pageParams } from '#src/platform/http/paging.ts';
import { flag, optional, text, uid, withDefault } from '#src/platform/http/values.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import { importParams, unknownFieldsOf } from './import/import-params.ts';
import { importAnswer, importFault, importView } from './import/import-view.ts';
import { runImport } from './import/run-import.ts';
import { findCategory, type Listed, listCategories, listProducts, loadProductsOnSale } from './menu-store.ts';
import { categoryAnswer, categoryView, productAnswer, productView } from './menu-view.ts';

const listParams = { ...pageParams, visible: withDefault(flag(), true), q: optional(text({ max: 100 })) };

const categoryGone = (): Fault => new Fault('CATEGORY_NOT_FOUND', 'No such category');

export const menuOperations = ({ cursors }: { cursors: Cursors }): Operation[] => [
  listCategoriesOperation(cursors),
  getCategory,
  listProductsOperation(cursors),
  getProduct,
  importOperation,
];

/** The lists of a menu go by page alone, so there is never a cursor to give out. */
const byPage = (cursors: Cursors, params: { page?: number | undefined; pagesize?: number | undefined }) => {
  const query = cursors.read<never>(params, null);
  return {
    page: { offset: query.offset, limit: query.pagesize },
    members: <T>({ items, total }: Listed<T>) => ({
      ...cursors.answer(query, null, { more: false, total, last: undefined }),
      more: query.offset + items.length < total && items.length > 0,
    }),
  };
};

const listCategoriesOperation = (cursors: Cursors): Operation =>
  operation({
    method: 'GET',
    path: '/menu/categories',
    summary: 'Categories of the menu',
    params: z.object(listParams),
    answer: z.object({ categories: z.array(categoryAnswer), ...pageAnswer }),
    handle: async ({ db, restuid, params }) => {
      const { page, members } = byPage(cursors, params);
      const listed = await listCategories(db, restuid, { visibleOnly: params.visible, part: params.q }, page);
      return { body: { categories: listed.items.map(categoryView), ...members(listed) } };
    },
  });

const getCategory = operation({
  method: 'GET',
  path: '/menu/category',
  summary: 'One category, hidden ones too',
  params: z.object({ uid: uid() }),
  answer: z.object({ category: categoryAnswer }),
  handle: async ({ db, restuid, params }) => {
    const category = await findCategory(db, restuid, params.uid);
    if (category === undefined) throw categoryGone();
    return { body: { category: categoryView(category) } };
  },
});

const listProductsOperation = (cursors: Cursors): Operation =>
  operation({
    method: 'GET',
    path: '/menu/products',
    summary: 'Products of the menu or of one category',
    params: z.object({ ...listParams, catuid: optional(uid()) }),
    answer: z.object({ products: z.array(productAnswer), ...pageAnswer }),
    handle: async ({ db, restuid, params }) => {
      if (params.catuid !== undefined && (await findCategory(db, restuid, params.catuid)) === undefined)
        throw categoryGone();
      const { page, members } = byPage(cursors, params);
      const filter = { visibleOnly: params.visible, part: params.q, categoryUid: params.catuid };
      const listed = await listProducts(db, restuid, filter, page);
      return { body: { products: listed.items.map(productView), ...members(listed) } };
    },
  });

const getProduct = operation({
  method: 'GET',
  path: '/menu/product',
  summary: 'One product with all options that apply, hidden ones too',
  params: z.object({ uid: uid() }),
  answer: z.object({ product: productAnswer }),
  handle: async ({ db, restuid, params }) => {
    const product = (await loadProductsOnSale(db, restuid, [params.uid])).get(params.uid);
    if (product === undefined) throw new Fault('PRODUCT_NOT_FOUND', 'No such product');
    return { body: { product: productView(product) } };
  },
});

const importOperation = operation({
  method: 'POST',
  path: '/menu/import',
  summary: 'Replace or merge the menu of a point of sale',
  params: importParams,
  answer: z.object({ import: importAnswer }),
  body: { bytesMax: 32 * 1024 * 1024, timeoutMs: 120_000 },
  handle: async ({ db, restuid, caller, params, now }) => {
    const restaurant = await requireRestaurant(db, restuid);
    const { pos_uid: posUid, update_mode: mode } = params;
    if (posUid === undefined || mode === undefined) throw new Error('parameters were not checked');
    const outcome = await runImport(db, {
      restuid,
      owner: caller.id,
      posUid,
      mode,
      currency: restaurant.currency,
      categories: params.categories ?? [],
      products: params.products ?? [],
      maxRemovalPercent: params.max_removal_percent,
      confirmRemoval: params.confirm_removal,
      unknownFields: unknownFieldsOf(params),
      now,
    });
    const report = importView(outcome, { posUid, mode, clientId: caller.id, now }, restaurant);
    if (!outcome.applied) throw importFault(outcome, report);
    return { body: { import: report } };
  },
});
