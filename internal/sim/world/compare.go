package world

import (
	"fmt"
	"strings"
)

var productAngles = []Angle{
	{Title: "Say in brief what speaks for which", fits: "strategist approach choice", section: "overview summary brief verdict", text: ofCategory(func(c *category) string {
		return "**In brief.** " + c.brief
	})},
	{Title: "Set the choices side by side", fits: "strategist options analyst compares order steps", section: "plan analysis", text: ofCategory(table)},
	{Title: "Gather what each costs", fits: "researcher scout figures facts numbers", section: "details findings figures", text: ofCategory(func(c *category) string {
		return "**What each costs.** " + names(c) + ":\n\n" + list(c, func(i item) string { return i.price + ", then " + i.running })
	})},
	{Title: "Gather what each is good at", fits: "researcher scout background gathers", section: "details findings facts", text: ofCategory(func(c *category) string {
		return "**What each is good at.** " + names(c) + ":\n\n" + list(c, func(i item) string { return i.good })
	})},
	{Title: "Write the recommendation", fits: "writer detailed summary reader", section: "plan summary recommendation", text: ofCategory(func(c *category) string {
		return "**Recommendation.** " + c.advice
	})},
	{Title: "Write for whom each is right", fits: "writer ready use analyst weighs", section: "details content", text: ofCategory(func(c *category) string {
		return "**For whom each is right.** " + names(c) + ":\n\n" + list(c, func(i item) string { return "right for " + i.suits })
	})},
	{Title: "Look for what speaks against each", fits: "critic skeptic risks wrong attacks objections", section: "risks objections", text: ofCategory(func(c *category) string {
		return "**What speaks against each.** " + names(c) + ":\n\n" + list(c, func(i item) string { return i.bad })
	})},
	{Title: "List what to check before buying", fits: "critic gaps assumptions skeptic", section: "risks next_steps questions open", text: ofCategory(func(c *category) string {
		return "**To check first.** " + c.checks + " The figures here are rounded and from memory: ask for three offers."
	})},
}

// ofCategory writes about the category that a task names: it does, since its text has the
// category's name.
func ofCategory(text func(*category) string) func(topic, Days) string {
	return func(t topic, _ Days) string {
		if t.category == nil {
			return "**Comparison.** The simulated model does not know these, so this shows only where a comparison would stand."
		}
		return text(t.category)
	}
}

func table(c *category) string {
	var b strings.Builder
	b.WriteString("**Side by side.** " + names(c) + ", in the same order everywhere:\n\n| | price | running | good | poor |\n| --- | --- | --- | --- | --- |\n")
	for _, i := range c.items {
		fmt.Fprintf(&b, "| **%s** | %s | %s | %s | %s |\n", i.name, i.price, i.running, i.good, i.bad)
	}
	return strings.TrimSpace(b.String())
}

func names(c *category) string {
	return fmt.Sprintf("%s, %s and %s", c.items[0].name, c.items[1].name, c.items[2].name)
}

func list(c *category, of func(item) string) string {
	var b strings.Builder
	for _, i := range c.items {
		fmt.Fprintf(&b, "- **%s:** %s.\n", i.name, of(i))
	}
	return strings.TrimSpace(b.String())
}
