/** The menu of the demo restaurant, in the form that menu/import takes: 46 products in 8 categories. */

type DemoValue = { ext_id: string; name: string; price_operator?: '+' | '-' | '='; price_operand?: number };

type DemoOption = {
  ext_id: string;
  name: string;
  type: 'single' | 'multiple';
  min_selectable?: number;
  max_selectable?: number;
  max_quantity?: number;
  primary?: boolean;
  option_values: DemoValue[];
};

const size: DemoOption = {
  ext_id: 'size',
  name: 'Size',
  type: 'single',
  min_selectable: 1,
  primary: true,
  option_values: [
    { ext_id: 'regular', name: 'Regular' },
    { ext_id: 'large', name: 'Large', price_operand: 4 },
  ],
};

const dough: DemoOption = {
  ext_id: 'dough',
  name: 'Dough',
  type: 'single',
  option_values: [
    { ext_id: 'classic', name: 'Classic' },
    { ext_id: 'wholemeal', name: 'Wholemeal', price_operand: 1 },
    { ext_id: 'gluten-free', name: 'Gluten free', price_operand: 2.5 },
  ],
};

const toppings: DemoOption = {
  ext_id: 'toppings',
  name: 'Extra toppings',
  type: 'multiple',
  max_selectable: 6,
  max_quantity: 2,
  option_values: [
    { ext_id: 'buffalo', name: 'Buffalo mozzarella', price_operand: 2 },
    { ext_id: 'ham', name: 'Cooked ham', price_operand: 1.5 },
    { ext_id: 'mushrooms', name: 'Mushrooms', price_operand: 1.2 },
    { ext_id: 'olives', name: 'Olives', price_operand: 0.8 },
    { ext_id: 'rocket', name: 'Rocket', price_operand: 1 },
    { ext_id: 'no-cheese', name: 'Without cheese', price_operator: '-', price_operand: 0.5 },
  ],
};

const cooking: DemoOption = {
  ext_id: 'cooking',
  name: 'How cooked',
  type: 'single',
  min_selectable: 1,
  option_values: [
    { ext_id: 'rare', name: 'Rare' },
    { ext_id: 'medium', name: 'Medium' },
    { ext_id: 'well-done', name: 'Well done' },
  ],
};

const bottle: DemoOption = {
  ext_id: 'bottle',
  name: 'Serving',
  type: 'single',
  min_selectable: 1,
  option_values: [
    { ext_id: 'glass', name: 'Glass' },
    { ext_id: 'half-litre', name: 'Half a litre', price_operator: '=', price_operand: 9 },
    { ext_id: 'bottle', name: 'Bottle', price_operator: '=', price_operand: 19 },
  ],
};

export const demoCategories = [
  { ext_id: 'starters', name: 'Antipasti', description: 'To begin with' },
  { ext_id: 'pizzas', name: 'Pizze', description: 'From the wood oven', options: [size, dough, toppings] },
  { ext_id: 'pasta', name: 'Primi', description: 'Fresh pasta and risotto' },
  { ext_id: 'mains', name: 'Secondi', description: 'Meat and fish' },
  { ext_id: 'sides', name: 'Contorni', description: 'Side dishes and salads' },
  { ext_id: 'desserts', name: 'Dolci', description: 'Made here' },
  { ext_id: 'drinks', name: 'Bevande', description: 'Water, beer, soft drinks' },
  { ext_id: 'wines', name: 'Vini', description: 'From Tuscan hills', options: [bottle] },
];

type Row = [
  category: string,
  name: string,
  price: number,
  description: string,
  allergens?: string[],
  symbols?: string[],
];

const gluten = 'gluten';
const milk = 'milk';

const rows: Row[] = [
  ['starters', 'Bruschetta al pomodoro', 5.5, 'Tomato, basil, garlic', [gluten], ['vegan']],
  ['starters', 'Crostini toscani', 6.5, 'Chicken liver on toast', [gluten, 'celery']],
  ['starters', 'Prosciutto e melone', 9, 'Ham and melon', [], ['gluten_free']],
  ['starters', 'Tagliere misto', 14, 'Cold cuts and cheese', [milk]],
  ['starters', 'Carpaccio di manzo', 11, 'Raw beef, rocket, parmesan', [milk], ['gluten_free']],
  ['starters', 'Insalata di mare', 12, 'Squid, prawns, mussels', ['molluscs', 'crustaceans', 'celery']],
  ['pizzas', 'Marinara', 6, 'Tomato, garlic, oregano', [gluten], ['vegan']],
  ['pizzas', 'Margherita', 7.5, 'Tomato, mozzarella, basil', [gluten, milk], ['vegetarian']],
  ['pizzas', 'Napoli', 8.5, 'Tomato, mozzarella, anchovies, capers', [gluten, milk, 'fish']],
  ['pizzas', 'Diavola', 9, 'Tomato, mozzarella, spicy salami', [gluten, milk], ['spicy']],
  ['pizzas', 'Quattro stagioni', 10, 'Ham, mushrooms, artichokes, olives', [gluten, milk]],
  ['pizzas', 'Capricciosa', 10, 'Ham, mushrooms, artichokes, egg', [gluten, milk, 'eggs']],
  ['pizzas', 'Quattro formaggi', 10.5, 'Four cheeses', [gluten, milk], ['vegetarian']],
  ['pizzas', 'Ortolana', 9.5, 'Grilled vegetables', [gluten, milk], ['vegetarian']],
  ['pizzas', 'Bufalina', 11, 'Buffalo mozzarella, cherry tomatoes', [gluten, milk], ['vegetarian']],
  ['pizzas', 'Tonno e cipolla', 9.5, 'Tuna and red onion', [gluten, milk, 'fish']],
  ['pizzas', 'Crudo e rucola', 11.5, 'Raw ham, rocket, parmesan', [gluten, milk]],
  ['pizzas', 'Calzone', 10, 'Folded: ham, ricotta, mozzarella', [gluten, milk]],
  ['pasta', 'Spaghetti al pomodoro', 8.5, 'Tomato and basil', [gluten], ['vegan']],
  ['pasta', 'Tagliatelle al ragù', 11, 'Beef and pork ragù', [gluten, 'eggs', 'celery']],
  ['pasta', 'Lasagne della casa', 11.5, 'Baked, with ragù', [gluten, 'eggs', milk, 'celery']],
  ['pasta', 'Pici cacio e pepe', 11, 'Pecorino and pepper', [gluten, milk], ['vegetarian']],
  ['pasta', 'Gnocchi al pesto', 10.5, 'Basil, pine nuts, parmesan', [gluten, milk, 'nuts'], ['vegetarian']],
  ['pasta', 'Spaghetti alle vongole', 14.5, 'Clams, garlic, parsley', [gluten, 'molluscs']],
  ['pasta', 'Risotto ai funghi porcini', 13.5, 'Porcini and parmesan', [milk], ['vegetarian', 'gluten_free']],
  ['mains', 'Tagliata di manzo', 19.5, 'Sliced sirloin, rocket, parmesan', [milk], ['gluten_free']],
  ['mains', 'Filetto al pepe verde', 22, 'Fillet, green pepper', [milk]],
  ['mains', 'Cotoletta di pollo', 13, 'Breaded chicken breast', [gluten, 'eggs']],
  ['mains', 'Branzino al forno', 18, 'Baked sea bass, potatoes', ['fish'], ['gluten_free']],
  ['mains', 'Frittura mista', 17, 'Fried squid and prawns', [gluten, 'molluscs', 'crustaceans']],
  ['mains', 'Parmigiana di melanzane', 11.5, 'Aubergine, tomato, mozzarella', [milk, 'eggs'], ['vegetarian']],
  ['sides', 'Patate al forno', 4.5, 'Roast potatoes, rosemary', [], ['vegan', 'gluten_free']],
  ['sides', 'Insalata mista', 4.5, 'Mixed salad', [], ['vegan', 'gluten_free']],
  ['sides', 'Fagioli all’uccelletto', 5, 'Beans, tomato, sage', [], ['vegan']],
  ['sides', 'Verdure grigliate', 5.5, 'Grilled vegetables', [], ['vegan', 'gluten_free']],
  ['desserts', 'Tiramisù', 5.5, 'Mascarpone, coffee', [gluten, milk, 'eggs'], ['vegetarian']],
  ['desserts', 'Panna cotta', 5, 'With berries', [milk], ['gluten_free']],
  ['desserts', 'Cantucci e Vin Santo', 6, 'Almond biscuits, sweet wine', [gluten, 'nuts', 'eggs', 'sulphites']],
  ['desserts', 'Sorbetto al limone', 4, 'Lemon sorbet', [], ['vegan', 'gluten_free']],
  ['drinks', 'Acqua naturale', 2, '75 cl, still'],
  ['drinks', 'Acqua frizzante', 2, '75 cl, sparkling'],
  ['drinks', 'Cola', 3, '33 cl'],
  ['drinks', 'Birra alla spina', 4.5, '40 cl, draught', [gluten]],
  ['drinks', 'Caffè', 1.5, 'Espresso'],
  ['wines', 'Chianti Classico', 5, 'Red', ['sulphites']],
  ['wines', 'Vernaccia di San Gimignano', 5, 'White', ['sulphites']],
];

export const demoProducts = rows.map(([category, name, price, description, allergens = [], symbols = []], index) => ({
  ext_id: `P${String(index + 1).padStart(2, '0')}`,
  category_ext_id: category,
  name,
  price,
  description,
  allergens,
  symbols,
  ...(name === 'Tagliata di manzo' || name === 'Filetto al pepe verde' ? { options: [cooking] } : undefined),
}));
