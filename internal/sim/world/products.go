package world

// category is a kind of thing that people compare, with three of it.
type category struct {
	name string
	// words are what a request has that is about the category.
	words string
	// brief is the choice in two sentences, advice what to take, checks what to ask before.
	brief, advice, checks string
	items                 [3]item
}

// item is one of the things compared.
type item struct{ name, price, running, good, bad, suits string }

var categories = []category{
	{
		name: "ways to heat an old house", words: "heating heat boiler pellets radiators",
		brief:  "The house decides more than the device: with radiators that work at 50 °C an air-source heat pump is the best of the three, without them pellets are. Gas is cheap to buy and dear to keep.",
		advice: "Insulate the top ceiling and balance the radiators first, then take the heat pump if the flow stays below 55 °C on the coldest day; else pellets, if there is a dry room for them.",
		checks: "The heat load room by room, the flow temperature of last winter, the chimney's state, room for a store, and which subsidies are open before anything is ordered.",
		items: [3]item{
			{"Air-source heat pump", "€18,000 to €30,000 installed", "about 28 kWh of electricity for 100 kWh of heat", "no fuel, no chimney, cools in summer", "weak above 55 °C flow, audible outside", "houses whose radiators are large enough"},
			{"Pellet boiler", "€20,000 to €28,000 installed", "about 22 kg of pellets for 100 kWh of heat", "high flow temperatures, renewable fuel", "needs a store, ash and a sweep", "draughty houses with a dry cellar"},
			{"Gas condensing boiler", "€9,000 to €13,000 installed", "about 10 m³ of gas for 100 kWh of heat", "cheap to buy, small, known by every fitter", "rising carbon price, may not be installed anew everywhere", "a bridge of a few years"},
		},
	},
	{
		name: "databases for a small service", words: "database databases sqlite postgres postgresql mysql",
		brief:  "One server and few writers: SQLite, and nothing to run. Several servers, or reports beside the traffic: PostgreSQL.",
		advice: "Begin with PostgreSQL if a second server is likely within the year, with SQLite if it is not; MySQL where the people who will run it know it.",
		checks: "How many writers there are at once, who restores a backup and when that was tried last, whether rows are ever searched by text or place, and what a minute of standstill costs.",
		items: [3]item{
			{"SQLite", "free", "a file beside the program, copied for a backup", "no server, tested like little else, quick on one machine", "one writer at a time, one machine", "services on one server, tools, tests"},
			{"PostgreSQL", "free, hosted from about $15 a month", "a server with vacuuming, upgrades every year", "strict types, JSON, full text, extensions", "more to run and to tune", "services that grow"},
			{"MySQL", "free, hosted from about $15 a month", "a server, replication that is well known", "simple replication, known everywhere", "looser types, weaker query planner", "teams and hosts that have it already"},
		},
	},
	{
		name: "coffee makers", words: "coffee espresso moka",
		brief:  "The press gives the most coffee for the least money, the moka pot the strongest without a machine, the espresso machine the best and the most work.",
		advice: "Buy a burr grinder first, which helps all three; then the press for mornings with company, the moka pot for one, the machine only if you drink two espressi a day.",
		checks: "How many cups there are at once, how hard the water is, how much room there is, and who cleans it.",
		items: [3]item{
			{"French press", "€20 to €40", "about 15 g of coffee a cup", "no filter, no power, a litre at once", "some sediment, cools quickly", "breakfast for several"},
			{"Moka pot", "€25 to €45", "about 7 g of coffee a cup", "strong, lasts for decades", "bitter if left on the stove", "one or two strong cups"},
			{"Espresso machine", "€350 to €900 with grinder", "about 18 g of coffee a double, and descaling", "true espresso and milk foam", "warm-up, cleaning, room", "two or more espressi a day"},
		},
	},
	{
		name: "mattresses", words: "mattress mattresses",
		brief:  "Weight and warmth decide: springs for those who sleep hot or weigh more, cold foam for most, latex for allergies and long life.",
		advice: "Take cold foam of 18 cm with zones unless you sleep hot; try it for a month at home, because ten minutes in a shop say little.",
		checks: "Weight and usual position of each sleeper, the slats below, how the cover is washed, and how a return works.",
		items: [3]item{
			{"Cold foam", "€250 to €600", "lasts about eight years", "light, quiet, adapts quickly", "warmer than springs", "most sleepers on their side"},
			{"Pocket springs", "€350 to €900", "lasts about ten years", "airy, carries much weight", "heavy, needs a firm base", "warm and heavy sleepers"},
			{"Latex", "€500 to €1,200", "lasts about twelve years", "elastic, little dust", "dear and very heavy", "allergies, long use"},
		},
	},
	{
		name: "frontend libraries for a web page", words: "frontend react svelte htmx",
		brief:  "Pages with forms need no framework: HTML from the server with htmx. An application that lives in the browser for hours does: React for people and libraries, Svelte for size.",
		advice: "Begin with htmx and add one component where it hurts; take React only if two or more people work on the front full time.",
		checks: "How much state lives in the browser, whether it works on slow phones, who keeps it in two years, and how pages are tested.",
		items: [3]item{
			{"React", "free, about 45 kB compressed", "frequent changes around it", "most people and libraries", "much machinery for little pages", "large applications with a team"},
			{"Svelte", "free, a few kB compressed", "a compiler to keep current", "small, quick, little to write", "fewer people and libraries", "small teams, slow devices"},
			{"htmx", "free, about 14 kB compressed", "nothing but the server", "no build, HTML stays HTML", "poor for rich editing", "forms, lists, internal tools"},
		},
	}, {
		name: "laptops", words: "laptop laptops notebook notebooks ultrabook",
		brief:  "Memory and keyboard matter longer than the processor: 16 GB suffice for writing and the web, 32 GB for programs and pictures. A light one is carried, a large one stays.",
		advice: "Take the thin one with 32 GB unless games or video are the purpose; a refurbished business laptop is two thirds of it for half of the money.",
		checks: "Whether memory and battery can be replaced, what the keyboard is like after ten minutes, which screens it drives, and how long there are updates.",
		items: [3]item{
			{"Thin 13- or 14-inch laptop", "€1,000 to €1,600", "a battery after four years, about €120", "1.3 kg, silent, ten hours without a socket", "memory soldered in, few ports", "people who work in several places"},
			{"Refurbished business laptop", "€350 to €700", "a battery sooner, about €80", "good keyboard, parts to be had, repairable", "older screen, shorter guarantee", "small budgets"},
			{"15-inch laptop with a graphics card", "€1,200 to €2,000", "twice the electricity of the others", "games, video and models on the machine itself", "2.3 kg, loud, four hours of battery", "a desk that it seldom leaves"},
		},
	},
	{
		name: "phones", words: "phone phones smartphone smartphones handy",
		brief:  "Years of updates decide what a phone costs a year. The middle of the range takes pictures that most people cannot tell from the best phone's.",
		advice: "Take the middle one with seven years of updates; the cheap one if it is used for calls, maps and messages only.",
		checks: "How many years of updates are left from today, what a new battery costs fitted, and whether it works with the bank and the car.",
		items: [3]item{
			{"Phone of the middle range", "€400 to €550", "a battery after four years, about €80 fitted", "up to seven years of updates, good pictures by day and night", "slower charging, plastic back", "most people"},
			{"Cheap phone", "€150 to €250", "replaced after two or three years", "large battery, a place for a memory card", "two to four years of updates, weak pictures in the dark", "calls, maps and messages"},
			{"Refurbished top model of two years ago", "€350 to €500", "a battery at once or soon, about €90 fitted", "the best camera for the money, metal and glass", "fewer years of updates, unknown past", "people who take many pictures"},
		},
	},
}
