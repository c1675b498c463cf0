/** Checks the product, options and values of an order line against the menu of the location (interface 11.1). Pure. */
import type { FaultDetail } from '#src/contract/fault.ts';
import type { Option, OptionValue, ProductOnSale } from '../../menus/menu/menu.ts';
import type { ChosenOption, ChosenValue } from './order-arithmetic.ts';

type SentValue = { uid: string; quantity: number };
type SentOption = { uid: string; values: readonly SentValue[] };
export type SentLine = {
  product: { uid: string };
  quantity: number;
  notes: string | null;
  options: readonly SentOption[];
};

export type ChosenLine = { sale: ProductOnSale; options: ChosenOption[] };

const isAt = (element: { subrestaurant_uids: readonly string[] }, locationUid: string): boolean =>
  element.subrestaurant_uids.length === 0 || element.subrestaurant_uids.includes(locationUid);

/** The matching products, options and values of the menu, or every fault of the line with its pointer. */
export const chooseLine = (
  sale: ProductOnSale | undefined,
  sent: SentLine,
  locationUid: string,
  pointer: string,
): ChosenLine | FaultDetail[] => {
  const atProduct = `${pointer}/product/uid`;
  if (sale === undefined) return [{ pointer: atProduct, code: 'PRODUCT_NOT_FOUND', message: 'No such product' }];
  const { product, category } = sale;
  if (product.hidden || category.hidden) {
    return [{ pointer: atProduct, code: 'PRODUCT_NOT_AVAILABLE', message: 'The product is hidden' }];
  }
  if (!isAt(product, locationUid) || !isAt(category, locationUid)) {
    return [{ pointer: atProduct, code: 'PRODUCT_NOT_AVAILABLE', message: 'The product is not sold at this location' }];
  }
  const offered = sale.options.filter((option) => !option.hidden && isAt(option, locationUid));
  const primaryValues = primaryValuesOf(offered, sent.options);
  const details: FaultDetail[] = [];
  const chosen: ChosenOption[] = [];
  for (const [index, sentOption] of sent.options.entries()) {
    const at = `${pointer}/options/${index}`;
    const option = offered.find(({ uid }) => uid === sentOption.uid);
    if (option === undefined) {
      details.push({ pointer: `${at}/uid`, code: 'OPTION_NOT_FOUND', message: 'No such option of this product' });
    } else if (chosen.some((earlier) => earlier.option.uid === option.uid)) {
      details.push({ pointer: `${at}/uid`, code: 'DUPLICATE', message: 'is given twice' });
    } else {
      const values = chooseValues(option, sentOption.values, primaryValues, locationUid, at);
      details.push(...values.details);
      chosen.push({ option, values: values.chosen });
    }
  }
  if (details.length === 0) {
    const choosable = offered.filter((option) =>
      option.option_values.some((value) => isOffered(value, primaryValues, locationUid)),
    );
    details.push(...countFaults(choosable, chosen, sent.options, pointer));
  }
  return details.length > 0 ? details : { sale, options: chosen };
};

const primaryValuesOf = (offered: readonly Option[], sent: readonly SentOption[]): ReadonlySet<string> => {
  const primary = offered.find((option) => option.primary);
  return new Set(sent.filter(({ uid }) => uid === primary?.uid).flatMap(({ values }) => values.map(({ uid }) => uid)));
};

const chooseValues = (
  option: Option,
  sent: readonly SentValue[],
  primaryValues: ReadonlySet<string>,
  locationUid: string,
  pointer: string,
): { chosen: ChosenValue[]; details: FaultDetail[] } => {
  const chosen: ChosenValue[] = [];
  const details: FaultDetail[] = [];
  for (const [index, { uid, quantity }] of sent.entries()) {
    const at = `${pointer}/values/${index}/uid`;
    const value = option.option_values.find((candidate) => candidate.uid === uid);
    if (value === undefined || !isOffered(value, primaryValues, locationUid)) {
      details.push({ pointer: at, code: 'OPTION_VALUE_NOT_FOUND', message: 'No such value of this option' });
    } else if (chosen.some((earlier) => earlier.value.uid === uid)) {
      details.push({ pointer: at, code: 'DUPLICATE', message: 'is given twice' });
    } else chosen.push({ value, quantity });
  }
  return { chosen, details };
};

const isOffered = (value: OptionValue, primaryValues: ReadonlySet<string>, locationUid: string): boolean => {
  if (value.hidden || !isAt(value, locationUid)) return false;
  const { restrict_to_primary_value_uids: only } = value;
  return only.length === 0 || only.some((uid) => primaryValues.has(uid));
};

/**
 * Too few or too many values. A limit of 0 means none, except that a single option accepts one value once. An option
 * without any value on offer for this choice requires none.
 */
const countFaults = (
  choosable: readonly Option[],
  chosen: readonly ChosenOption[],
  sent: readonly SentOption[],
  pointer: string,
): FaultDetail[] =>
  choosable.flatMap((option) => {
    const values = chosen.find((entry) => entry.option.uid === option.uid)?.values ?? [];
    const message = countFault(option, values);
    if (message === undefined) return [];
    const index = sent.findIndex(({ uid }) => uid === option.uid);
    return [
      {
        pointer: index === -1 ? `${pointer}/options` : `${pointer}/options/${index}/values`,
        code: 'OPTION_COUNT' as const,
        message,
      },
    ];
  });

const countFault = (option: Option, values: readonly ChosenValue[]): string | undefined => {
  const sum = values.reduce((total, { quantity }) => total + quantity, 0);
  if (sum < option.min_selectable) return `${option.name}: choose at least ${option.min_selectable}`;
  if (option.type === 'single' && sum > 1) return `${option.name}: choose one`;
  if (option.max_selectable > 0 && sum > option.max_selectable)
    return `${option.name}: choose at most ${option.max_selectable}`;
  const { max_quantity: most } = option;
  if (most > 0 && values.some(({ quantity }) => quantity > most)) return `${option.name}: at most ${most} of a value`;
  return undefined;
};
