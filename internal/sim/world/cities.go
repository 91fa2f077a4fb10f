package world

// city is a place to travel to, four days long.
type city struct {
	name string
	// also are other names of it, in the words that people write.
	also []string
	// brief is the place in two sentences.
	brief string
	days  []day
	// arrive, around and stay are the ways there and within, and where to sleep.
	arrive, around, stay string
	// budget is what a day costs, prices what single things do.
	budget, prices string
	// caution is what goes wrong there, book what cannot wait, rain what to do then.
	caution, book, rain string
}

// day is a day by its parts, each a place in bold and what to know of it.
type day struct{ morning, lunch, afternoon, dinner string }

var cities = []city{
	{
		name: "Kyoto", also: []string{"kyōto", "京都"},
		brief: "Kyoto is best taken by district: one temple quarter in a half day, on foot, and the famous places before nine. The east side fills two days, Fushimi and Arashiyama half a day each.",
		days: []day{
			{
				morning:   "**Kiyomizu-dera.** Be at the wooden terrace at its opening at six, then walk down Sannenzaka while the shops are closed; about ¥500, two hours.",
				lunch:     "**Udon below Kiyomizu.** A bowl with tofu or duck in one of the houses around Yasaka Pagoda; about ¥1,200, no reservation.",
				afternoon: "**Kodai-ji and Yasaka Shrine.** A garden of raked sand, then through Maruyama Park to Gion, all within twenty minutes on foot; about ¥600.",
				dinner:    "**Obanzai in Pontocho.** Small home-style dishes in the lane along the Kamo River; ¥3,000 to ¥5,000 each, reserve a day ahead.",
			},
			{
				morning:   "**Fushimi Inari Taisha.** Take the JR Nara line and climb through the vermilion gates to the Yotsutsuji crossing before the crowds come; free, two hours.",
				lunch:     "**Nishiki Market.** Rolled omelette, skewers and pickles from stall to stall under its roof, before two o'clock; about ¥1,500.",
				afternoon: "**Nijo Castle.** The shogun's palace whose floors sing like birds, with painted halls and a wide garden; about ¥1,300, ninety minutes.",
				dinner:    "**Ramen Koji at Kyoto Station.** Eight ramen houses on the tenth floor, then the Skyway above the hall for the lights; about ¥1,200.",
			},
			{
				morning:   "**Arashiyama.** The bamboo grove by eight, then the garden of Tenryu-ji when it opens, then the Togetsukyo Bridge; garden about ¥500, three hours.",
				lunch:     "**Soba in Arashiyama.** Cold buckwheat noodles with tempura near the river, early, because the queues begin at noon; about ¥1,500.",
				afternoon: "**Kinkaku-ji and Ryoan-ji.** The golden pavilion across its pond, then fifteen stones in gravel, twenty minutes apart on foot; ¥500 to ¥600 each.",
				dinner:    "**Izakaya in Kiyamachi.** Grilled chicken, sashimi and sake along the canal; about ¥3,500 each, most houses take walk-ins before seven.",
			},
			{
				morning:   "**Ginkaku-ji and the Philosopher's Path.** The silver pavilion's moss garden first, then two kilometres along the canal to the south; about ¥500.",
				lunch:     "**Yudofu near Nanzen-ji.** Simmered tofu in the houses beside the temple gate; ¥2,500 to ¥4,000 for a set lunch.",
				afternoon: "**Nanzen-ji.** The great Sanmon gate to climb and a brick aqueduct among the halls; gate about ¥600, an hour and a half.",
				dinner:    "**Kaiseki in Gion.** One long meal in many small courses, with a seat at the counter; from ¥12,000 each, reserve weeks ahead.",
			},
		},
		arrive:  "**Getting there.** The Haruka express takes about 80 minutes from Kansai Airport; the Shinkansen about two and a quarter hours from Tokyo, fifteen minutes from Osaka.",
		around:  "**Getting around.** JR and subway for the long legs, feet within a district; the buses to Kiyomizu-dera and Kinkaku-ji are full from ten on. ICOCA or Suica pays for all of them.",
		stay:    "**Where to stay.** Around Kyoto Station for trains and price, in Gion or Higashiyama for evenings on foot; a double room is about ¥15,000 to ¥30,000.",
		budget:  "**Budget.** About ¥12,000 a day for each person: ¥5,500 for meals, ¥2,000 for temples, ¥1,500 for transport, ¥3,000 in reserve; the room comes on top.",
		prices:  "**Prices.** Temples ¥500 to ¥600, Nijo Castle about ¥1,300, a lunch ¥1,200 to ¥1,500, a dinner ¥3,000 to ¥5,000, a ride on the subway from ¥220.",
		caution: "**What goes wrong.** Two bus rides in rush hour cost half a day; many temples let nobody in after half past four; small houses take cash alone; April and November are crowded and dear.",
		book:    "**To book and to check.** The room three months ahead for blossom or autumn leaves, kaiseki weeks ahead, Shinkansen seats with luggage; check closing days of gardens the week before.",
		rain:    "**If it rains.** Nijo Castle, the Kyoto National Museum and the roofed Nishiki Market; Fushimi Inari is fine with an umbrella.",
	},
	{
		name: "Lisbon", also: []string{"lisboa", "lissabon"},
		brief: "Lisbon is hills and river: one hill a half day, the riverside at Belém for another, and Sintra where there is a third day. Walk downhill and take trams up.",
		days: []day{
			{
				morning:   "**Alfama and Castelo de São Jorge.** Tram 28 or bus 737 up, the walls and peacocks first, then down through the lanes; about €15, two and a half hours.",
				lunch:     "**Grilled sardines in Alfama.** Charcoal grills on the steps near Largo de São Miguel, best from June to September; about €12.",
				afternoon: "**Sé and Miradouro de Santa Luzia.** The cathedral, then tiles and a terrace above the Tagus, ten minutes apart; the terrace is free.",
				dinner:    "**Fado and petiscos in Mouraria.** Small plates and three sets of songs in a house for forty; €35 to €50 each, reserve.",
			},
			{
				morning:   "**Mosteiro dos Jerónimos in Belém.** Tram 15E from Praça do Comércio; be in the line before the doors open at half past nine; about €18, an hour and a half.",
				lunch:     "**Pastéis de Belém.** Custard tarts still warm in the tiled rooms at the back, after a bifana in a house nearby; about €10 together.",
				afternoon: "**Torre de Belém and MAAT.** Along the river past the Monument to the Discoveries to the wave-shaped museum; the museum about €11.",
				dinner:    "**Time Out Market at Cais do Sodré.** Two dozen kitchens under one roof, good for a group that cannot agree; about €20 each, no reservation.",
			},
			{
				morning:   "**Sintra: Palácio da Pena.** The train from Rossio takes 40 minutes; book the first slot and take bus 434 up; about €20.",
				lunch:     "**Travesseiros in Sintra.** Almond pastry and a toasted sandwich in the old town below the palaces; about €9.",
				afternoon: "**Quinta da Regaleira.** Grottoes and a well to walk down into, fifteen minutes on foot from the town; about €15, two hours.",
				dinner:    "**Bacalhau à Brás in Baixa.** Salt cod with egg and potato back in town near Rossio; €15 to €20 each.",
			},
			{
				morning:   "**Museu Nacional do Azulejo.** Five centuries of tiles in a convent, with a panorama of the city before the earthquake; about €10, ninety minutes.",
				lunch:     "**Caldo verde in Graça.** Cabbage soup with sausage and a plate of the day among neighbours; about €11.",
				afternoon: "**Chiado and Bairro Alto.** Bookshops, the Carmo church without its roof, the Miradouro de São Pedro de Alcântara at sunset; the church about €7.",
				dinner:    "**Seafood rice in Cacilhas.** Ten minutes by ferry from Cais do Sodré, with the city's lights across the water; about €25 each.",
			},
		},
		arrive:  "**Getting there.** The red metro line takes about 25 minutes from the airport to the centre; a taxi costs about €15 to €20.",
		around:  "**Getting around.** A Navegante card with stored value pays for metro, trams, buses and ferries; tram 28 is full from ten on, bus 737 reaches the castle too.",
		stay:    "**Where to stay.** Baixa or Chiado for flat streets and short ways, Graça for views and price; a double room is about €110 to €180.",
		budget:  "**Budget.** About €85 a day for each person: €45 for meals, €25 for entrances, €8 for transport, the rest in reserve; the room comes on top.",
		prices:  "**Prices.** Castle about €15, Jerónimos about €18, Pena about €20, a lunch €10 to €12, a dinner €20 to €35, a ride under €2.",
		caution: "**What goes wrong.** Cobbles are slippery and steep in the wrong shoes; pickpockets work on tram 28; many museums are closed on Mondays; bread and olives on the table are not free.",
		book:    "**To book and to check.** Pena and Jerónimos with a time slot, the fado house a few days ahead; check whether the Torre de Belém is open and whether the trains to Sintra run.",
		rain:    "**If it rains.** The tile museum, the Gulbenkian collection and the market hall at Cais do Sodré.",
	},
	{
		name: "Rome", also: []string{"roma"},
		brief: "Rome is walked: antiquity on one day, the Vatican on another, the baroque centre in between, and Trastevere in the evenings. Two tickets must be booked, the rest is free.",
		days: []day{
			{
				morning:   "**Colosseum and Forum.** Enter with a slot at nine, then the Forum and up the Palatine before the heat; about €18 together, three and a half hours.",
				lunch:     "**Pasta in Monti.** Cacio e pepe in a trattoria five minutes behind the Colosseum; about €14.",
				afternoon: "**Capitoline Museums.** Marcus Aurelius on his horse and the best terrace over the Forum; about €15, two hours.",
				dinner:    "**Pizza in Trastevere.** Thin and crisp, across the river by foot over the Tiber Island; about €15 each, come before eight.",
			},
			{
				morning:   "**Vatican Museums and Sistine Chapel.** The first slot of the day, straight to the chapel and back through the Raphael rooms; about €25 with booking.",
				lunch:     "**Pizza al taglio in Prati.** By weight and eaten standing, ten minutes north of the museums; about €8.",
				afternoon: "**St. Peter's and Castel Sant'Angelo.** The basilica after three, when the line shortens, then the ramp up to the angels; castle about €16.",
				dinner:    "**Carbonara near Campo de' Fiori.** With guanciale and no cream, a reservation for half past eight; about €25 each.",
			},
			{
				morning:   "**Pantheon and Piazza Navona.** The dome at nine, Caravaggio next door in San Luigi dei Francesi, then coffee on the square; Pantheon about €5.",
				lunch:     "**Supplì in the old ghetto.** Fried rice balls and artichokes in the Jewish style; about €15.",
				afternoon: "**Galleria Borghese.** Bernini at two hours a visit, strictly by slot, then the park down to the Spanish Steps; about €15.",
				dinner:    "**Oxtail in Testaccio.** The cooking of the old slaughterhouse quarter near the market; about €28 each, reserve.",
			},
			{
				morning:   "**Via Appia Antica.** Bus 118 or a hired bicycle, Roman paving between pines and the catacombs of San Callisto; catacombs about €10.",
				lunch:     "**Porchetta sandwich in Testaccio Market.** Roast pork with herbs at a stall, on a bench among shoppers; about €7.",
				afternoon: "**Aventine Hill.** The orange garden, the keyhole of the Knights of Malta, Santa Sabina, all free and quiet; ninety minutes.",
				dinner:    "**Aperitivo and gelato around Monti.** Spritz with small plates on the Piazza della Madonna, then a walk to the lit Forum; about €18 each.",
			},
		},
		arrive:  "**Getting there.** The Leonardo Express takes 32 minutes from Fiumicino to Termini; a taxi into the centre has a fixed fare of about €55.",
		around:  "**Getting around.** On foot in the centre; metro A for the Vatican, metro B for the Colosseum; tap a card in buses and metro.",
		stay:    "**Where to stay.** Monti for antiquity and evenings, Prati for the Vatican and calm; a double room is about €130 to €220.",
		budget:  "**Budget.** About €95 a day for each person: €50 for meals, €30 for entrances, €6 for transport, the rest in reserve; the room comes on top.",
		prices:  "**Prices.** Colosseum about €18, Vatican Museums about €25, Borghese about €15, a lunch €8 to €15, a dinner €15 to €28, a ride €1.50.",
		caution: "**What goes wrong.** Without a slot the Colosseum and the Vatican cost two hours of queue; shoulders and knees are covered in churches; August is hot and half closed.",
		book:    "**To book and to check.** Vatican, Colosseum and Borghese weeks ahead with names; check papal audiences on Wednesdays and strikes on Fridays.",
		rain:    "**If it rains.** Palazzo Massimo, the churches with Caravaggio, the covered Testaccio Market.",
	},
	{
		name:  "Paris",
		brief: "Paris falls into walks along the Seine: the islands and the Marais, the Louvre and the Tuileries, the Left Bank, Montmartre. One museum a day is enough.",
		days: []day{
			{
				morning:   "**Sainte-Chapelle and Notre-Dame.** The stained glass with the first slot, then the cathedral next door; about €13 for the chapel, two hours.",
				lunch:     "**Falafel in the Marais.** From a window in Rue des Rosiers, eaten on Place des Vosges; about €9.",
				afternoon: "**Musée Carnavalet and Place des Vosges.** The city's own history in two mansions, free, then galleries around the square; two hours.",
				dinner:    "**Bistro near Bastille.** Duck confit or steak frites and a carafe; about €30 each, reserve for eight.",
			},
			{
				morning:   "**Louvre.** A slot at nine through the Carrousel entrance, one wing and no more; about €22, three hours.",
				lunch:     "**Croque-monsieur by the Palais-Royal.** At the counter of a café in the arcades; about €12.",
				afternoon: "**Tuileries and Orangerie.** Monet's water lilies in two oval rooms at the end of the garden; about €12.50, ninety minutes.",
				dinner:    "**Bouillon on the Grands Boulevards.** A brasserie hall from 1900 with leeks, stew and profiteroles; about €20 each, queue before seven.",
			},
			{
				morning:   "**Montmartre.** Up from Abbesses by the back lanes to Sacré-Cœur before ten, then the last vineyard; free, two hours.",
				lunch:     "**Crêpes in Rue Lepic.** A buckwheat galette with egg and ham, a cider beside it; about €14.",
				afternoon: "**Musée d'Orsay.** The Impressionists under the station clock, quietest after three; about €16, two and a half hours.",
				dinner:    "**Saint-Germain.** Onion soup and sole in a brasserie of the Boulevard; about €35 each, reserve.",
			},
			{
				morning:   "**Eiffel Tower and Trocadéro.** The stairs to the second floor at opening, the picture from the Trocadéro after; stairs about €15.",
				lunch:     "**Rue Cler.** Cheese, bread and fruit from the market street for a picnic on the Champ de Mars; about €12.",
				afternoon: "**Rodin Museum and Les Invalides.** The Thinker among roses, ten minutes from Napoleon's tomb; about €15 for the garden and house.",
				dinner:    "**Canal Saint-Martin.** Natural wine and small plates along the locks; about €28 each.",
			},
		},
		arrive:  "**Getting there.** RER B takes about 35 minutes from Charles de Gaulle to Châtelet for about €13; metro 14 about 25 minutes from Orly.",
		around:  "**Getting around.** Metro and feet; a Navigo Easy card holds single tickets at about €2.50; the river bus only for the view.",
		stay:    "**Where to stay.** The Marais or Saint-Germain for walks, the 10th around the canal for price; a double room is about €150 to €250.",
		budget:  "**Budget.** About €110 a day for each person: €60 for meals, €30 for museums, €8 for transport, the rest in reserve; the room comes on top.",
		prices:  "**Prices.** Louvre about €22, Orsay about €16, Sainte-Chapelle about €13, a lunch €9 to €14, a dinner €20 to €35.",
		caution: "**What goes wrong.** The Louvre is closed on Tuesdays, Orsay on Mondays; pickpockets wait around Sacré-Cœur; many kitchens close between two and seven.",
		book:    "**To book and to check.** Louvre, Sainte-Chapelle and the Eiffel Tower with slots; bistros two days ahead; check strikes of the RER.",
		rain:    "**If it rains.** The covered passages from Palais-Royal to the Grands Boulevards, the Carnavalet, the Orangerie.",
	},
	{
		name: "Vienna", also: []string{"wien"},
		brief: "Vienna lies within its ring: palaces and museums inside it, Schönbrunn and the vineyards outside. A morning of art, an afternoon in a coffee house, an evening of music.",
		days: []day{
			{
				morning:   "**Kunsthistorisches Museum.** Bruegel's room first, then Vermeer, then coffee under the dome; about €21, three hours, closed on Mondays out of season.",
				lunch:     "**Würstelstand behind the Opera.** A Käsekrainer with mustard and bread, standing; about €7.",
				afternoon: "**Hofburg and Heldenplatz.** The Sisi Museum or the National Library's State Hall, not both; €10 to €20.",
				dinner:    "**Schnitzel near Stephansplatz.** Of veal, larger than the plate, with potato salad; about €28 each, reserve.",
			},
			{
				morning:   "**Schönbrunn.** U4 to the palace, a slot at half past eight, then the hill to the Gloriette; about €27 for the tour, park free.",
				lunch:     "**Tafelspitz in Hietzing.** Boiled beef with apple horseradish, a short walk from the palace; about €25.",
				afternoon: "**Naschmarkt and Secession.** Stalls from olives to strudel, then Klimt's Beethoven Frieze; the frieze about €12.",
				dinner:    "**State Opera, standing room, and goulash after.** Tickets from about €15 at ten in the morning or online; goulash about €14.",
			},
			{
				morning:   "**Belvedere.** Klimt's Kiss in the upper palace, the garden down to the lower one; about €19, two hours.",
				lunch:     "**Lunch menu in the 4th district.** Soup and a main course around Karlsplatz; about €13.",
				afternoon: "**Café Central or Café Sperl.** Apple strudel, a newspaper and no hurry, then the Karlskirche; about €12.",
				dinner:    "**Heuriger in Grinzing or Neustift.** Young wine, roast pork and spreads in a garden; tram 38 or bus 35A, about €22 each.",
			},
			{
				morning:   "**Kahlenberg.** Bus 38A up, the view over the Danube, then down through the vineyards on foot; free, three hours.",
				lunch:     "**Picnic among the vineyards.** Bread, Liptauer and grapes from a shop in Nussdorf; about €9.",
				afternoon: "**Prater and Hundertwasserhaus.** The Riesenrad, then a walk down the Hauptallee; wheel about €14.",
				dinner:    "**Beisl in Neubau.** Fried chicken salad or Kaiserschmarren in a panelled room; about €20 each.",
			},
		},
		arrive:  "**Getting there.** The Railjet or S7 takes 15 to 25 minutes from the airport for about €5; trains from Prague and Munich take four hours.",
		around:  "**Getting around.** Underground and trams; a 24-hour ticket is about €8, and the ring is walked in an hour and a half.",
		stay:    "**Where to stay.** Neubau or Wieden for walks and restaurants, Leopoldstadt for price; a double room is about €110 to €180.",
		budget:  "**Budget.** About €95 a day for each person: €50 for meals, €30 for museums, €8 for transport, the rest in reserve; the room comes on top.",
		prices:  "**Prices.** Kunsthistorisches about €21, Schönbrunn about €27, Belvedere about €19, a lunch €7 to €13, a dinner €20 to €28.",
		caution: "**What goes wrong.** Shops are closed on Sundays; concert sellers in costume are dear; coffee houses count on an hour, not on ten minutes.",
		book:    "**To book and to check.** Schönbrunn and Belvedere with slots, the opera months ahead unless you stand; check closing days of the museums.",
		rain:    "**If it rains.** Three museums lie around Maria-Theresien-Platz and the MuseumsQuartier, a coffee house on every corner.",
	},
	{
		name: "New York", also: []string{"new york city", "nyc", "manhattan"},
		brief: "New York is walked from south to north: the harbour and downtown, the High Line and Midtown, Central Park and its museums, and Brooklyn for the last day.",
		days: []day{
			{
				morning:   "**Statue of Liberty and Ellis Island.** The first ferry from Battery Park at nine, three hours for both; about $25.",
				lunch:     "**Dumplings in Chinatown.** Fried pork dumplings and sesame pancake around Mott Street; about $10.",
				afternoon: "**9/11 Memorial and Oculus.** The pools are free, the museum takes two hours; about $33.",
				dinner:    "**Pizza in the West Village.** A coal-oven pie after a walk through SoHo; about $22 each, come before half past six.",
			},
			{
				morning:   "**Central Park.** In at 72nd Street, Bethesda Terrace, the Ramble, out at the Met; free, two hours.",
				lunch:     "**Bagel on the Upper West Side.** With lox and scallion cream cheese, eaten on a bench in the park; about $16.",
				afternoon: "**Metropolitan Museum.** The Temple of Dendur, Vermeer and the roof in summer; about $30, three hours.",
				dinner:    "**Noodles in Koreatown.** 32nd Street stays open late, below the Empire State Building's lights; about $25 each.",
			},
			{
				morning:   "**High Line and Whitney.** From Hudson Yards down the old railway to Gansevoort Street; the museum about $30.",
				lunch:     "**Chelsea Market.** Tacos or lobster rolls under the old biscuit factory; about $20.",
				afternoon: "**Grand Central, Public Library, Bryant Park.** Three halls and a lawn along 42nd Street, all free; two hours.",
				dinner:    "**Before a show around Times Square.** A set menu on Ninth Avenue at half past five; about $35 each.",
			},
			{
				morning:   "**Brooklyn Bridge.** On foot from City Hall before nine, then Dumbo and the waterfront; free, two hours.",
				lunch:     "**Smorgasburg or a deli in Williamsburg.** Pastrami or a rice bowl by the river; about $18.",
				afternoon: "**Brooklyn Museum or Prospect Park.** Egypt and feminist art, or a lake and meadows for nothing; museum about $20.",
				dinner:    "**Soul food in Harlem.** Fried chicken and jazz near 126th Street; about $38 each, reserve.",
			},
		},
		arrive:  "**Getting there.** AirTrain and the E line take about 60 minutes from JFK for about $12; a taxi has a flat fare of about $70 to Manhattan.",
		around:  "**Getting around.** The subway at about $3 a ride, paid by tapping a card and capped by the week; crosstown it is quicker to walk.",
		stay:    "**Where to stay.** Long Island City or Downtown Brooklyn for price, the Village for evenings; a double room is about $220 to $350.",
		budget:  "**Budget.** About $140 a day for each person: $75 for meals, $45 for museums, $10 for the subway, the rest in reserve; the room comes on top.",
		prices:  "**Prices.** Met and Whitney about $30, 9/11 Museum about $33, ferry about $25, a lunch $10 to $20, a dinner $22 to $38 before tips.",
		caution: "**What goes wrong.** Tips of 18 to 20 percent and tax come on top of every price; subway lines change at weekends; Times Square is for ten minutes.",
		book:    "**To book and to check.** Liberty's crown months ahead, shows and the 9/11 Museum days ahead; check ESTA or visa before anything else.",
		rain:    "**If it rains.** The Met, the Morgan Library, Grand Central and Chelsea Market.",
	},
}
