func f() {
	if ok {
		run()
	}
}
